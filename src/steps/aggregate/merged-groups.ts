import { itemAt } from '../../core/index.js';
import { RecordBatch, type Vector } from '../../vector/index.js';
import type { BatchReader } from '../../flow/index.js';
import { pageRows } from '../../sorting/index.js';
import { accumulator, Counts } from './accumulators.js';
import { GroupRows, keysIn, plainsAt, type AggregatePlan, type Computation, type StateColumns } from './group-rows.js';
import { plainOf, type Plain } from './plain.js';

/** Where the values are of a run of groups and values. */
export const valueName = 'value';

/** Where the reading of sorted rows has got to. */
class Cursor<C> {
  row = 0;
  #length = 0;
  #columns: C | undefined;

  /** @param columnsOf Takes what is wanted out of a batch. */
  constructor(
    private readonly reader: BatchReader,
    private readonly columnsOf: (batch: RecordBatch) => C,
  ) {}

  /** Whether the row is there; if not, `load` tells. */
  get isLoaded(): boolean {
    return this.row < this.#length;
  }

  get columns(): C {
    if (this.#columns === undefined) throw new Error('no row was loaded');
    return this.#columns;
  }

  /** Goes on with the next batch. @returns Whether there is a row. */
  async load(): Promise<boolean> {
    const batch = await this.reader.next();
    this.row = 0;
    this.#length = batch.length;
    if (batch.length > 0) this.#columns = this.columnsOf(batch);
    return batch.length > 0;
  }
}

/**
 * Makes one of the groups that several runs have in part.
 *
 * @param stored Rows of groups in the order of their keys.
 * @param values For each computation that counts different values: groups and values, in the order of both.
 */
export class MergedGroups implements BatchReader {
  #rows: GroupRows;
  readonly #groups: Cursor<{ readonly keys: readonly Vector[]; readonly states: StateColumns }>;
  readonly #values: readonly (Cursor<{ readonly keys: readonly Vector[]; readonly value: Vector }> | undefined)[];

  constructor(
    private readonly plan: AggregatePlan,
    stored: BatchReader,
    values: readonly (BatchReader | undefined)[],
    private readonly at: string,
  ) {
    const { by } = plan;
    this.#rows = this.#opened();
    this.#groups = new Cursor(stored, (batch) => ({ keys: keysIn(batch, by), states: this.#rows.statesIn(batch) }));
    this.#values = values.map(
      (reader) => reader && new Cursor(reader, (batch) => ({ keys: keysIn(batch, by), value: batch.column(valueName) })),
    );
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

  #opened(): GroupRows {
    return new GroupRows(this.plan, this.plan.compute.map(mergedOf));
  }

  /** The next group, from all rows that have its key. */
  async #group(rows: GroupRows): Promise<void> {
    const cursor = this.#groups;
    const group = rows.open(plainsAt(cursor.columns.keys, cursor.row));
    do {
      rows.merge(group, cursor.columns.states, cursor.row);
      cursor.row += 1;
    } while ((cursor.isLoaded || (await cursor.load())) && rows.is(group, cursor.columns.keys, cursor.row));
    for (const [index, values] of this.#values.entries()) {
      if (!values) continue;
      let count = 0;
      let last: Plain = null;
      while ((values.isLoaded || (await values.load())) && rows.is(group, values.columns.keys, values.row)) {
        const value = plainOf(values.columns.value, values.row);
        if (value !== last) count += 1;
        last = value;
        values.row += 1;
      }
      itemAt(rows.accumulators, index).merge(group, [count]);
    }
  }
}

/** The different values of a group were counted when it is merged. */
function mergedOf({ aggregate, type }: Computation) {
  return aggregate === 'count_distinct' ? new Counts() : accumulator(aggregate, type);
}
