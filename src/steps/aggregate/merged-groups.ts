import { RecordBatch } from '../../vector/index.js';
import type { BatchReader } from '../../flow/index.js';
import { pageRows } from '../../sorting/index.js';
import { accumulator, Counts } from './accumulators.js';
import { GroupRows, plainIn, storedKey, type AggregatePlan, type Computation } from './group-rows.js';
import type { Plain } from './plain.js';

/** Where the values are of a run of groups and values. */
export const valueName = 'value';

/** Where the reading of sorted rows has got to. */
class Cursor {
  batch = RecordBatch.empty;
  row = 0;

  constructor(private readonly reader: BatchReader) {}

  /** @returns Whether there is a row. */
  async load(): Promise<boolean> {
    if (this.row < this.batch.length) return true;
    this.batch = await this.reader.next();
    this.row = 0;
    return this.batch.length > 0;
  }
}

/**
 * Makes one of the groups that several runs have in part.
 *
 * @param stored Rows of groups in the order of their keys.
 * @param values For each computation that counts different values: groups and values, in the order of both.
 */
export class MergedGroups implements BatchReader {
  readonly #groups: Cursor;
  readonly #values: readonly (Cursor | undefined)[];

  constructor(
    private readonly plan: AggregatePlan,
    stored: BatchReader,
    values: readonly (BatchReader | undefined)[],
    private readonly at: string,
  ) {
    this.#groups = new Cursor(stored);
    this.#values = values.map((reader) => reader && new Cursor(reader));
  }

  async next(): Promise<RecordBatch> {
    const rows = new GroupRows(this.plan, this.plan.compute.map(mergedOf));
    while (rows.size < pageRows && (await this.#groups.load())) await this.#group(rows);
    return rows.size === 0
      ? RecordBatch.empty
      : rows.results(
          Uint32Array.from({ length: rows.size }, (_, group) => group),
          this.at,
        );
  }

  /** The next group, from all rows that have its key. */
  async #group(rows: GroupRows): Promise<void> {
    const cursor = this.#groups;
    const { by } = this.plan;
    const key = storedKey(by, cursor.batch, cursor.row);
    const group = rows.open(key);
    do {
      rows.merge(group, cursor.batch, cursor.row);
      cursor.row += 1;
    } while ((await cursor.load()) && rows.is(group, storedKey(by, cursor.batch, cursor.row)));
    for (const [index, values] of this.#values.entries()) {
      if (values) rows.accumulators[index]?.merge(group, [await this.#countOf(values, (other) => rows.is(group, other))]);
    }
  }

  /** How many different values a group has. */
  async #countOf(cursor: Cursor, isKey: (key: readonly Plain[]) => boolean): Promise<number> {
    let count = 0;
    let last: Plain = null;
    while ((await cursor.load()) && isKey(storedKey(this.plan.by, cursor.batch, cursor.row))) {
      const value = plainIn(cursor.batch, valueName, cursor.row);
      if (value !== last) count += 1;
      last = value;
      cursor.row += 1;
    }
    return count;
  }
}

/** The different values of a group were counted when it is merged. */
function mergedOf({ aggregate, type }: Computation) {
  return aggregate === 'count_distinct' ? new Counts() : accumulator(aggregate, type);
}
