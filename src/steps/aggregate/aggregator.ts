import { itemAt, StepError, type DeclaredType, type Value } from '../../core/index.js';
import { Database, sqlTypeOf, sqlValues, valueOf } from '../../engine/index.js';
import type { BatchReader, Collector, OnError, StepContext } from '../../flow/index.js';
import { FlatVector, RecordBatch, taking, type Mapped } from '../../vector/index.js';
import { keptRows } from '../on-error.js';
import { aggregateOf, resultType, type AggregateName } from './calls.js';

/** What an aggregation computes. Values have labels. */
export interface AggregatePlan {
  /** The values that rows are stored with: type by label. */
  readonly values: ReadonlyMap<string, DeclaredType>;
  /** The labels of the values to group by, which are their fields. */
  readonly by: readonly string[];
  /** By name of the result: an aggregate of labelled values, or of rows. */
  readonly compute: readonly { readonly name: string; readonly aggregate: AggregateName; readonly label: string | undefined }[];
  /** Returns the values for the rows of a page as `plainCast` does. @param page Number of the page, for messages. */
  read(batch: RecordBatch, page: number): ReadonlyMap<string, Mapped>;
  readonly onError: OnError;
}

/** Collects the values of rows in DuckDB, which groups them and computes the results. */
export class Aggregator implements Collector {
  readonly #rows: Database;

  /** @param spill Maximum memory for rows, in bytes, and the private folder for data that does not fit. */
  constructor(
    private readonly plan: AggregatePlan,
    spill: { readonly memory: number; readonly folder: string },
    private readonly context: StepContext,
  ) {
    const columns = Array.from(plan.values.values(), (type, index) => [`value${index}`, sqlTypeOf(type)] as const);
    this.#rows = new Database(
      { present: 'BOOLEAN', ...Object.fromEntries(columns) },
      { ...spill, failed: (message) => new StepError('E_STEP_SCRATCH', `${context.at}: ${message}`) },
    );
  }

  async add(arrived: RecordBatch, page: number): Promise<void> {
    if (arrived.length === 0) return;
    const { at, tally } = this.context;
    const read = this.plan.read(arrived, page);
    const failure = (field: string, reason: string, row: string) => new StepError('E_STEP_VALUE', `${at}: ${field}: ${reason} in ${row}`);
    const kept = keptRows({ page, batch: arrived }, read, this.plan.onError, this.context, failure);
    const length = kept?.length ?? arrived.length;
    const take = kept === undefined ? undefined : taking(kept);
    const columns = Array.from(this.plan.values.keys(), (label) => {
      const values = read.get(label);
      if (values === undefined) throw new Error(`nothing was read of ${label}`);
      return sqlValues(take ? take(values.vector) : values.vector);
    });
    await this.#rows.append(length, [new Array<boolean>(length).fill(true), ...columns]);
    tally.grouped += length;
  }

  async finish(): Promise<BatchReader> {
    const { by, compute, values } = this.plan;
    const labels = [...values.keys()];
    const columnOf = (label: string) => `value${labels.indexOf(label)}`;
    const typeOf = (label: string | undefined) => (label === undefined ? undefined : values.get(label)) ?? 'flag';
    const keys = by.map(columnOf);
    const results = compute.map(({ aggregate, label }) => aggregateOf(aggregate).sql(label && columnOf(label), typeOf(label)));
    const groups = keys.length === 0 ? '' : ` GROUP BY ${keys.join()} ORDER BY ${keys.map((key) => `${key} NULLS LAST`).join()}`;
    const next = await this.#rows.query(`SELECT ${[...keys, ...results].join()} FROM rows${groups}`);
    const columns = [
      ...by.map((field) => ({ name: field, type: typeOf(field) })),
      ...compute.map(({ name, aggregate, label }) => ({ name, type: resultType(aggregate, typeOf(label)) })),
    ];
    return {
      next: async () => {
        const chunk = await next();
        if (!chunk) return RecordBatch.empty;
        this.context.tally.groups += chunk.rows;
        const vectors = columns.map(({ name, type }, index) => {
          const values = itemAt(chunk.columns, index).map((value) => this.#checked(name, valueOf(value, type)));
          return [name, new FlatVector(values)] as const;
        });
        return new RecordBatch(chunk.rows, new Map(vectors));
      },
    };
  }

  close(): Promise<void> {
    return this.#rows.close();
  }

  /** @throws {StepError} `E_STEP_OVERFLOW` for a sum that its type cannot hold. */
  #checked(name: string, value: Value): Value {
    if (typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : typeof value !== 'number' || Number.isFinite(value)) return value;
    throw new StepError('E_STEP_OVERFLOW', `${this.context.at}: ${name}: a sum is too large for its type`);
  }
}
