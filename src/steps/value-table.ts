import { itemAt, StepError, type DeclaredType } from '../core/index.js';
import { Database, resultOf, sqlTypes, sqlValues, type DatabaseOptions } from '../engine/index.js';
import type { BatchReader, OnError, StepContext } from '../flow/index.js';
import { mappedFrom, RecordBatch, taking, type Mapped } from '../vector/index.js';
import { keptRows } from './evaluation.js';

/** Values of rows in DuckDB, which a query turns into other rows. */
export class ValueTable {
  readonly #rows: Database;

  /** @param types Of the columns `value0`, `value1` and so on. */
  constructor(
    types: readonly DeclaredType[],
    options: Omit<DatabaseOptions, 'failed'>,
    private readonly context: StepContext,
  ) {
    const columns = types.map((type, index) => [`value${index}`, sqlTypes[type]] as const);
    this.#rows = new Database(
      { present: 'BOOLEAN', ...Object.fromEntries(columns) },
      { ...options, failed: (message) => new StepError('E_STEP_SCRATCH', `${context.at}: ${message}`) },
    );
  }

  /** Adds rows. @param read Their values as `plainCast` returns them, column by column, by their names in messages. */
  async add(batch: RecordBatch, page: number, read: ReadonlyMap<string, Mapped>, onError: OnError): Promise<void> {
    const { at, tally } = this.context;
    const failure = (field: string, reason: string, row: string) => new StepError('E_STEP_VALUE', `${at}: ${field}: ${reason} in ${row}`);
    const kept = keptRows({ page, batch }, read, onError, this.context, failure);
    const take = kept === undefined ? undefined : taking(kept);
    const length = kept?.length ?? batch.length;
    const columns = Array.from(read.values(), ({ vector }) => sqlValues(take ? take(vector) : vector));
    await this.#rows.append(length, [new Array<boolean>(length).fill(true), ...columns]);
    tally.grouped += length;
  }

  /**
   * Returns the result of a query. @param columns Its columns. @param onError What happens to a row that they cannot hold. @param more As
   * for `Database.query`.
   * @throws {StepError} `E_STEP_OVERFLOW` for such a row without `onError`.
   */
  async result(
    query: string,
    columns: readonly { readonly name: string; readonly type: DeclaredType }[],
    onError?: OnError,
    ...more: readonly [setting?: readonly string[], columns?: string]
  ): Promise<BatchReader> {
    const { at, tally } = this.context;
    const next = await this.#rows.query(query, ...more);
    const failure = (field: string, reason: string, row: string) =>
      onError
        ? new StepError('E_STEP_VALUE', `${at}: ${field} ${reason} in ${row} of the result`)
        : new StepError('E_STEP_OVERFLOW', `${at}: ${field}: a result is too large for its type`);
    let page = 0;
    const read = async (): Promise<RecordBatch> => {
      const chunk = await next();
      if (!chunk) return RecordBatch.empty;
      tally.groups += chunk.rows;
      page += 1;
      const found = new Map(
        columns.map(({ name, type }, index) => [name, mappedFrom(itemAt(chunk.columns, index), (value) => resultOf(value, type))]),
      );
      const batch = new RecordBatch(chunk.rows, new Map(Array.from(found, ([name, { vector }]) => [name, vector])));
      const kept = keptRows({ page, batch }, found, onError ?? 'fail', this.context, failure);
      // An empty batch would be the end.
      return kept === undefined ? batch : kept.length > 0 ? batch.take(kept) : read();
    };
    return { next: read };
  }

  close(): Promise<void> {
    return this.#rows.close();
  }
}
