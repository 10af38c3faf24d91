import { itemAt } from '../../core/index.js';
import { FlatVector, RecordBatch, type Mapped, type Vector } from '../../vector/index.js';
import type { Gathering, ValueAccumulator } from './accumulator.js';
import { aggregateOf } from './functions.js';
import { GroupRows, stateNames, type AggregatePlan } from './group-rows.js';
import { plainAt, plainOf, type Plain } from './plain.js';

/** Half of the 2^24 entries that a `Map` can hold. */
const maxEntries = 1 << 23;

/** The values of a result that is stored value by value. */
export interface PlacedValues {
  /** Index of the computation. */
  readonly place: number;
  readonly gathered: ValueAccumulator;
}

/** Groups in memory, found by key. */
export class Groups {
  readonly rows: GroupRows<Gathering>;
  /** The results that are stored value by value. */
  readonly values: readonly PlacedValues[];
  readonly #numbers = new Map<Plain, number>();

  constructor(private readonly plan: AggregatePlan) {
    const values: PlacedValues[] = [];
    const accumulators = plan.compute.map(({ aggregate, type }, place): Gathering => {
      const { keeps, open } = aggregateOf(aggregate);
      if (keeps === 'state') return open(type);
      const opened = open(type);
      values.push({ place, gathered: opened });
      return opened;
    });
    this.rows = new GroupRows(plan, accumulators);
    this.values = values;
  }

  /** Returns whether there is room for more within the given bytes. */
  fits(memory: number): boolean {
    return this.rows.bytes <= memory && this.rows.size <= maxEntries && this.values.every(({ gathered }) => gathered.size <= maxEntries);
  }

  /** Adds rows. @param plains Their plain values, by field or argument. */
  add(length: number, plains: ReadonlyMap<string, Mapped>): void {
    const groups = this.#groupsOf(
      length,
      this.plan.by.map(({ field }) => vectorOf(plains, field)),
    );
    this.plan.compute.forEach(({ argument }, index) => {
      const each = itemAt(this.rows.accumulators, index);
      if (argument === undefined) for (const group of groups) each.add(group, true);
      else addValues(each, groups, vectorOf(plains, argument));
    });
  }

  /** Returns some groups as rows for `MergedGroups`. */
  stored(groups: Uint32Array): RecordBatch {
    const states = this.rows.accumulators.flatMap((each, place) => {
      const rows = Array.from(groups, (group) => each.state(group));
      return stateNames(each, place).map((name, index) => [name, new FlatVector(rows.map((state) => plainAt(state, index)))] as const);
    });
    return new RecordBatch(groups.length, new Map([...this.rows.keysOf(groups), ...states]));
  }

  /** Returns the group of each row. */
  #groupsOf(length: number, keys: readonly Vector[]): Uint32Array {
    const groups = new Uint32Array(length);
    const [first] = keys;
    for (let row = 0; row < length; row += 1) {
      const text = first && keys.length === 1 ? plainOf(first, row) : keyText(keys, row);
      let group = this.#numbers.get(text);
      if (group === undefined) {
        group = this.rows.open(keys.map((key) => plainOf(key, row)));
        this.#numbers.set(text, group);
      }
      groups[row] = group;
    }
    return groups;
  }
}

function addValues(each: Gathering, groups: Uint32Array, vector: Vector): void {
  for (let row = 0; row < groups.length; row += 1) {
    const value = plainOf(vector, row);
    if (value !== null) each.add(itemAt(groups, row), value);
  }
}

/** Joins the parts of a key into one text, such that different keys have different texts. */
function keyText(keys: readonly Vector[], row: number): string {
  let text = '';
  for (const key of keys) {
    const value = plainOf(key, row);
    const part = String(value);
    text += value === null ? ';' : `${part.length}:${part}`;
  }
  return text;
}

function vectorOf(plains: ReadonlyMap<string, Mapped>, name: string): Vector {
  const found = plains.get(name);
  if (!found) throw new Error(`nothing was read of ${name}`);
  return found.vector;
}
