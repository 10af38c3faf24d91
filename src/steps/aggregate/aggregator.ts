import { itemAt, StepError, type DeclaredType, type Value } from '../../core/index.js';
import { Database, sqlTypeOf, sqlValues, valueOf } from '../../engine/index.js';
import type { BatchReader, Collector, OnError, StepContext } from '../../flow/index.js';
import { FlatVector, RecordBatch, taking, type Mapped } from '../../vector/index.js';
import { scratchFailure, keptRows } from '../on-error.js';
import { aggregateOf, resultColumn, type AggregateName } from './functions.js';

/** A field to group by. */
export interface GroupField {
  readonly field: string;
  readonly type: DeclaredType;
}

/** What is computed for each group. */
export interface Computation {
  /** Name of the result. */
  readonly name: string;
  readonly aggregate: AggregateName;
  /** Label of the values to aggregate; `undefined` to count rows. */
  readonly argument: string | undefined;
  /** Type of these values. */
  readonly type: DeclaredType;
}

/** What an aggregation computes. */
export interface AggregatePlan {
  readonly by: readonly GroupField[];
  readonly compute: readonly Computation[];
  /** Returns the values for the rows of a page as `plainCast` does, by field or argument. @param page Number of the page, for messages. */
  read(batch: RecordBatch, page: number): ReadonlyMap<string, Mapped>;
}

export interface AggregatorOptions {
  /** Maximum memory for rows, in bytes. */
  readonly memory: number;
  /** Private folder for data that does not fit. */
  readonly folder: string;
  /** What happens to a row with a value that does not have its type. */
  readonly onError: OnError;
}

/** Collects the values of rows in DuckDB, which groups them and computes the results. */
export class Aggregator implements Collector {
  /** The values that rows are stored with: type by field or argument. */
  readonly #stored: ReadonlyMap<string, DeclaredType>;
  readonly #rows: Database;

  constructor(
    private readonly plan: AggregatePlan,
    private readonly options: AggregatorOptions,
    private readonly context: StepContext,
  ) {
    const { by, compute } = plan;
    const labelled = compute.flatMap(({ argument, type }) => (argument === undefined ? [] : [[argument, type] as const]));
    this.#stored = new Map([...by.map(({ field, type }) => [field, type] as const), ...labelled]);
    const columns = Array.from(this.#stored.values(), (type, index) => [`value${index}`, sqlTypeOf(type)] as const);
    const { memory, folder } = options;
    this.#rows = new Database(
      { present: 'BOOLEAN', ...Object.fromEntries(columns) },
      { memory, folder, failed: scratchFailure(context.at) },
    );
  }

  async add(arrived: RecordBatch, page: number): Promise<void> {
    if (arrived.length === 0) return;
    const { at, tally } = this.context;
    const read = this.plan.read(arrived, page);
    const failure = (field: string, reason: string, row: string) => new StepError('E_STEP_VALUE', `${at}: ${field}: ${reason} in ${row}`);
    const kept = keptRows({ page, batch: arrived }, read, this.options.onError, this.context, failure);
    const length = kept?.length ?? arrived.length;
    const take = kept === undefined ? undefined : taking(kept);
    const columns = Array.from(this.#stored.keys(), (label) => {
      const values = read.get(label);
      if (values === undefined) throw new Error(`nothing was read of ${label}`);
      return sqlValues(take ? take(values.vector) : values.vector);
    });
    await this.#rows.append(length, [new Array<boolean>(length).fill(true), ...columns]);
    tally.grouped += length;
  }

  async finish(): Promise<BatchReader> {
    const { by, compute } = this.plan;
    const labels = [...this.#stored.keys()];
    const columnOf = (label: string) => `value${labels.indexOf(label)}`;
    const keys = by.map(({ field }) => columnOf(field));
    const results = compute.map(({ aggregate, argument, type }) =>
      aggregateOf(aggregate).sql(argument === undefined ? undefined : columnOf(argument), type),
    );
    const groups = keys.length === 0 ? '' : ` GROUP BY ${keys.join()} ORDER BY ${keys.map((key) => `${key} NULLS LAST`).join()}`;
    const next = await this.#rows.query(`SELECT ${[...keys, ...results].join()} FROM rows${groups}`);
    const columns = [
      ...by.map(({ field, type }) => ({ name: field, type })),
      ...compute.map(({ name, aggregate, type }) => resultColumn(name, aggregate, { type, sensitivity: 'plain' })),
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
