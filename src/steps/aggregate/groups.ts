import { itemAt } from '../../core/index.js';
import type { Mapped, Vector } from '../../vector/index.js';
import { accumulator, type Accumulator } from './accumulators.js';
import { DistinctValues } from './distinct-values.js';
import { GroupRows, type AggregatePlan, type Computation } from './group-rows.js';
import { plainOf, type Plain } from './plain.js';

/** A `Map` holds at most 2^24. */
const maxEntries = 1 << 23;

/** Groups in memory, found by their keys. */
export class Groups {
  readonly rows: GroupRows;
  readonly #numbers = new Map<Plain, number>();
  readonly #distinct: readonly DistinctValues[];

  constructor(private readonly plan: AggregatePlan) {
    this.rows = new GroupRows(plan, plan.compute.map(opened));
    this.#distinct = this.rows.accumulators.filter((each) => each instanceof DistinctValues);
  }

  /** Whether there is room for more, in so many bytes. */
  fits(memory: number): boolean {
    return this.rows.bytes <= memory && this.rows.size <= maxEntries && this.#distinct.every(({ size }) => size <= maxEntries);
  }

  /** Takes rows. @param plains Their plain values, by field or argument. */
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

  /** The group of every row. */
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

function opened({ aggregate, type }: Computation): Accumulator {
  return aggregate === 'count_distinct' ? new DistinctValues(type) : accumulator(aggregate, type);
}

function addValues(each: Accumulator, groups: Uint32Array, vector: Vector): void {
  for (let row = 0; row < groups.length; row += 1) {
    const value = plainOf(vector, row);
    if (value !== null) each.add(itemAt(groups, row), value);
  }
}

/** One text for the parts of a key, such that different keys have different texts. */
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
