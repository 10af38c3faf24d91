import { exact, itemAt, StepError, type DeclaredType } from '../core/index.js';
import { Database, sqlTypes, sqlValues, valueOf, type DatabaseOptions } from '../engine/index.js';
import type { BatchReader, OnError, StepContext } from '../flow/index.js';
import { FlatVector, RecordBatch, taking, type Mapped } from '../vector/index.js';
import { keptRows } from './evaluation.js';

/** The values of rows in DuckDB, which a query turns into other rows. */
export class ValueTable {
  readonly #rows: Database;

  /** @param types Those of the columns `value0`, `value1` and so on. */
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
   * Returns the result of a query.
   *
   * @param columns Its columns. @param more As for `Database.query`.
   * @throws {StepError} `E_STEP_OVERFLOW` for a result that its type cannot hold.
   */
  async result(
    query: string,
    columns: readonly { readonly name: string; readonly type: DeclaredType }[],
    ...more: readonly [setting?: readonly string[], columns?: string]
  ): Promise<BatchReader> {
    const { at, tally } = this.context;
    const next = await this.#rows.query(query, ...more);
    return {
      next: async () => {
        const chunk = await next();
        if (!chunk) return RecordBatch.empty;
        tally.groups += chunk.rows;
        const vectors = columns.map(({ name, type }, index) => {
          const values = itemAt(chunk.columns, index).map((value) => valueOf(value, type));
          const isTooLarge = type !== 'text' && values.some((value) => value !== null && exact[type](value) === undefined);
          if (isTooLarge) throw new StepError('E_STEP_OVERFLOW', `${at}: ${name}: a result is too large for its type`);
          return [name, new FlatVector(values)] as const;
        });
        return new RecordBatch(chunk.rows, new Map(vectors));
      },
    };
  }

  close(): Promise<void> {
    return this.#rows.close();
  }
}
