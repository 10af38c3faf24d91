import { itemAt } from '../../core/index.js';
import { RecordBatch, type Vector } from '../../vector/index.js';
import type { BatchReader } from '../../flow/index.js';
import { pageRows } from '../../sorting/index.js';
import type { Merging } from './accumulator.js';
import { aggregateOf } from './functions.js';
import { GroupRows, keysIn, plainsAt, stateNames, type AggregatePlan, type Computation } from './group-rows.js';
import { plainOf } from './plain.js';

/** Name of the column with the values in a run of groups and values. */
export const valueName = 'value';

/** Position in sorted rows that are read batch by batch. */
class Cursor<C> {
  row = 0;
  #length = 0;
  #columns: C | undefined;

  /** @param columnsOf Extracts the columns needed from a batch. */
  constructor(
    private readonly reader: BatchReader,
    private readonly columnsOf: (batch: RecordBatch) => C,
  ) {}

  /** Whether the current row is available; if not, call `load`. */
  get isLoaded(): boolean {
    return this.row < this.#length;
  }

  get columns(): C {
    if (this.#columns === undefined) throw new Error('no row was loaded');
    return this.#columns;
  }

  /** Loads the next batch. @returns Whether there is a row. */
  async load(): Promise<boolean> {
    const batch = await this.reader.next();
    this.row = 0;
    this.#length = batch.length;
    if (batch.length > 0) this.#columns = this.columnsOf(batch);
    return batch.length > 0;
  }
}

/** Reads the values of a result, in order. */
export interface PlacedReader {
  /** Index of the computation. */
  readonly place: number;
  readonly reader: BatchReader;
}

/**
 * Merges groups that are spread over several runs.
 *
 * @param stored Rows of groups in the order of their keys.
 * @param values For each result that is stored value by value: groups and values, in the order of both.
 */
export class MergedGroups implements BatchReader {
  #rows: GroupRows<Merging>;
  readonly #groups: Cursor<{ readonly keys: readonly Vector[]; readonly states: readonly (readonly Vector[])[] }>;
  readonly #values: readonly {
    readonly place: number;
    readonly cursor: Cursor<{ readonly keys: readonly Vector[]; readonly value: Vector }>;
  }[];

  constructor(
    private readonly plan: AggregatePlan,
    stored: BatchReader,
    values: readonly PlacedReader[],
    private readonly at: string,
  ) {
    const { by } = plan;
    this.#rows = this.#opened();
    const states = this.#rows.accumulators.map(stateNames);
    this.#groups = new Cursor(stored, (batch) => ({
      keys: keysIn(batch, by),
      states: states.map((names) => names.map((name) => batch.column(name))),
    }));
    this.#values = values.map(({ place, reader }) => ({
      place,
      cursor: new Cursor(reader, (batch) => ({ keys: keysIn(batch, by), value: batch.column(valueName) })),
    }));
  }

  async next(): Promise<RecordBatch> {
    const rows = (this.#rows = this.#opened());
    while (rows.size < pageRows && (this.#groups.isLoaded || (await this.#groups.load()))) await this.#group(rows);
    return rows.size === 0
      ? RecordBatch.empty
      : rows.results(
          Uint32Array.from({ length: rows.size }, (_, group) => group),
          this.at,
        );
  }

  #opened(): GroupRows<Merging> {
    return new GroupRows(this.plan, this.plan.compute.map(merging));
  }

  /** Merges all rows with the next key into a group. */
  async #group(rows: GroupRows<Merging>): Promise<void> {
    const cursor = this.#groups;
    const group = rows.open(plainsAt(cursor.columns.keys, cursor.row));
    do {
      const { states } = cursor.columns;
      rows.accumulators.forEach((each, place) => each.merge(group, plainsAt(itemAt(states, place), cursor.row)));
      cursor.row += 1;
    } while ((cursor.isLoaded || (await cursor.load())) && rows.is(group, cursor.columns.keys, cursor.row));
    for (const { place, cursor: values } of this.#values) {
      const merged = itemAt(rows.accumulators, place);
      while ((values.isLoaded || (await values.load())) && rows.is(group, values.columns.keys, values.row)) {
        const value = plainOf(values.columns.value, values.row);
        if (value !== null) merged.add(group, value);
        values.row += 1;
      }
    }
  }
}

function merging({ aggregate, type }: Computation): Merging {
  const accumulation = aggregateOf(aggregate);
  return accumulation.keeps === 'values' ? accumulation.merging(type) : accumulation.open(type);
}
