import type { z } from 'zod';
import { declaredTypes, schema, sensitivities, StepError, strictest, unknownName } from '../../core/index.js';
import type { Column, DeclaredType } from '../../core/index.js';
import type { Row, Sensitivity } from '../../core/index.js';
import { defaultMemory, memory, missingDuckdb, plainCast, programSpill, scratchFolder, type SpillOptions } from '../../engine/index.js';
import { describeQuery, queryResult, querySetting } from '../../engine/index.js';
import type { DatabaseOptions, QueryColumn } from '../../engine/index.js';
import { blocking, columnsNamed, countedStep, type BatchReader, type Collector } from '../../flow/index.js';
import type { MadeColumns, NamedColumns, OnError, Step, StepContext } from '../../flow/index.js';
import { RecordBatch } from '../../vector/index.js';
import { checkDuckdb, columnName, onErrorKey, requireDuckdb } from '../fields.js';
import { checkedConfig, builtInStep } from '../step.js';
import { ValueTable } from '../value-table.js';

/** The options of a program's query. */
export interface SqlOptions<Out> extends SpillOptions {
  /** All result columns, for steps and `writeTo`. Default: unknown until the query runs. */
  readonly columns?: MadeColumns<Out> | undefined;
  /** Types of columns of `rows`, by name. Default: text. */
  readonly types?: Readonly<Record<string, DeclaredType>> | undefined;
}

const configOfProgram = schema((z) => {
  const type = z.enum(declaredTypes);
  const column = z.union([type, z.strictObject({ type, sensitivity: z.enum(sensitivities).optional() })]);
  return z.strictObject({
    query: z.string().min(1),
    columns: z.record(columnName(), column).optional(),
    types: z.record(z.string(), type).optional(),
    ...programSpill(z),
  });
});

/**
 * Replaces all rows by the result of a query: a single SELECT in DuckDB's SQL over the table `rows`. Equal rows give equal results: `now()`
 * is when the read began, and functions such as `random` are refused. `null` comes last; texts are compared by code points.
 *
 * It needs the optional package `@duckdb/node-api`. Memory: limited by `memory`; beyond it, columns that the query reads are in files.
 *
 * @typeParam Out The rows of the result: whole numbers are `bigint`, fractions `number`, instants and days `Date`.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid options and without DuckDB, and from the stream for a refused query and
 * undeclared columns; `E_STEP_VALUE` and `E_STEP_SCRATCH` as in `sort`, also for a result beyond its type; `E_STEP_EXPRESSION` if it fails.
 *
 * @example
 * service.leads.pipe(sql<{ day: Date | null; leads: bigint }>('SELECT yearmonthday AS day, count(*) AS leads FROM rows GROUP BY day', {
 *   types: { yearmonthday: 'date' },
 * })); // { yearmonthday: '20240229', … }, …  ->  { day: 2024-02-29T00:00:00.000Z, leads: 1n }
 */
export function sql<Out extends Row = Row>(query: string, options: SqlOptions<Out> = {}, context?: StepContext): Step<Row, Out> {
  const at = context?.at ?? 'sql';
  const config = checkedConfig({ name: 'sql', config: configOfProgram }, { query }, options, context);
  checkDuckdb(at);
  const { types = {}, memory = defaultMemory, folder = scratchFolder(), on_error: onError = 'reject' } = config;
  const declared: NamedColumns | undefined = config.columns;
  const expected = declared && columnsNamed(declared, 'personal');
  const rows = (batch: RecordBatch) =>
    [...new Set([...Object.keys(types), ...batch.columns.keys()])].map((name) => ({ name, type: types[name] ?? 'text' }));
  const opened = (counted: StepContext): Step<Row, Out> =>
    blocking(counted, () => new QueryRows({ query, rows, expected, memory, folder, onError, now: new Date() }, counted));
  const columns = (input: readonly Column[]) => declared && columnsNamed(declared, strictest(input));
  return countedStep({ at, columns, made: expected, blocking: true }, opened, context);
}

export interface SqlConfig {
  readonly query: string;
  readonly sensitivity?: Readonly<Record<string, Sensitivity>> | undefined;
  readonly memory?: number | undefined;
  readonly on_error?: OnError | undefined;
}

function partsOf(config: string | SqlConfig): SqlConfig {
  return typeof config === 'string' ? { query: config } : config;
}

/** Undeclared fields are not in `rows`: result columns must be known before anything is read. */
function rowsOf(input: readonly Column[]): readonly QueryColumn[] {
  return input.flatMap(({ name, type, undeclared }) => (undeclared ? [] : [{ name, type }]));
}

export const sqlStep = builtInStep('sql', {
  summary: 'Replaces the rows by the result of a query over all of them, in the SQL of DuckDB.',
  config: (z): z.ZodType<string | SqlConfig> => {
    const query = z.string().min(1);
    return z.union([
      query.describe(
        'One SELECT statement over the table `rows`, whose columns have their declared types; undeclared and withheld fields are not in it. Only the columns that it uses are kept.',
      ),
      z.strictObject({
        query: query.describe('The same.'),
        sensitivity: z
          .record(z.string(), z.enum(sensitivities))
          .optional()
          .describe(
            'Sensitivity by column of the result. Default: in a SELECT of rows alone, that of the most sensitive column in its expression; otherwise that of the most sensitive column that the query uses, and plain for count(*).',
          ),
        memory: memory().describe('Memory for rows; the rest is spilled to files in the state folder.'),
        on_error: onErrorKey(z, 'with a value that does not cast, if the query uses it, or that a column of the result cannot hold'),
      }),
    ]);
  },
  blocking: true,
  examples: [
    'SELECT campaign_id, count(*) AS leads FROM rows GROUP BY campaign_id ORDER BY leads DESC, campaign_id',
    {
      query: 'SELECT * FROM rows QUALIFY row_number() OVER (PARTITION BY uid ORDER BY timestamp DESC, lead_id) = 1',
      memory: '64MB',
    },
  ],
  prepare: async (config, input, queries) => {
    if (missingDuckdb() === undefined) await queries.describe(partsOf(config).query, rowsOf(input));
  },
  columns: (config, input, plan) => {
    if (!requireDuckdb(plan)) return undefined;
    const { query, sensitivity = {} } = partsOf(config);
    const path = typeof config === 'string' ? [] : ['query'];
    const described = plan.queries?.described(query, rowsOf(input));
    if (described === undefined) return undefined;
    if ('problem' in described) {
      plan.problem(path, described.problem);
      return undefined;
    }
    const names = described.columns.map(({ name }) => name);
    for (const name of Object.keys(sensitivity))
      if (!names.includes(name)) plan.problem(['sensitivity', name], unknownName('column', name, names, plan.withheld), true);
    if (described.warning) plan.warn?.(path, described.warning);
    const declared = new Map(Object.entries(sensitivity));
    return described.columns.map(({ name, type, madeOf }) => {
      const used = new Set(madeOf.map((column) => column.name));
      const most = strictest(input.filter((column) => used.has(column.name)));
      return { name, original: name, type, cast: true, sensitivity: declared.get(name) ?? most };
    });
  },
  open: (config, runtime) => {
    const { query, memory = defaultMemory, on_error } = partsOf(config);
    const { input = [], scratch: folder = scratchFolder(), firstStart: now = new Date(), onError = 'reject' } = runtime;
    return blocking(
      runtime,
      () => new QueryRows({ query, rows: () => rowsOf(input), memory, folder, onError: on_error ?? onError, now }, runtime),
    );
  },
});

interface QueryRowsOptions extends Omit<DatabaseOptions, 'failed'> {
  readonly query: string;
  rows(first: RecordBatch): readonly QueryColumn[];
  /** The columns that the result must have. Default: any. */
  readonly expected?: readonly QueryColumn[] | undefined;
  readonly onError: OnError;
  readonly now: Date;
}

class QueryRows implements Collector {
  #opened: Awaited<ReturnType<typeof openQuery>> | undefined;

  constructor(
    private readonly options: QueryRowsOptions,
    private readonly context: StepContext,
  ) {}

  async add(batch: RecordBatch, page: number): Promise<void> {
    const { described, known, casts, rows } = (this.#opened ??= await openQuery(batch, this.options, this.context));
    if (batch.length === 0) return;
    const later = described.isWhole ? this.options.rows(batch).find(({ name }) => !known.has(name)) : undefined;
    if (later)
      throw new StepError('E_STEP_CONFIG', `${this.context.at}: the field ${later.name} is not in the first rows; declare it in types`);
    const read = new Map(casts.map(({ name, cast }) => [name, cast(batch.columnOrNulls(name))]));
    await rows.add(batch, page, read, this.options.onError);
  }

  async finish(): Promise<BatchReader> {
    const { described, rows } = (this.#opened ??= await openQuery(RecordBatch.empty, this.options, this.context));
    const { columns, reads } = described;
    const { query, onError, now } = this.options;
    return rows.result(query, columns, onError, querySetting(reads, now), queryResult(columns));
  }

  async close(): Promise<void> {
    await this.#opened?.rows.close();
  }
}

async function openQuery(first: RecordBatch, options: QueryRowsOptions, context: StepContext) {
  const { at } = context;
  const { query, rows, expected, memory, folder } = options;
  const columns = rows(first);
  const described = await describeQuery(query, columns);
  if ('problem' in described) throw new StepError('E_STEP_CONFIG', `${at}: ${described.problem}`);
  const listed = (columns: readonly QueryColumn[]) => columns.map(({ name, type }) => `${name} ${type}`).join(', ');
  const found = listed(described.columns);
  if (expected && listed(expected) !== found) throw new StepError('E_STEP_CONFIG', `${at}: declare the columns of the result: ${found}`);
  const refused = (kind: string) =>
    new StepError('E_STEP_EXPRESSION', `${at}: the query failed on these rows: ${kind}; guard its expressions, as by TRY_CAST and CASE`);
  const types = described.reads.map(({ type }) => type);
  const known = new Set(columns.map(({ name }) => name));
  const casts = described.reads.map(({ name, type }) => ({ name, cast: plainCast(type) }));
  return { described, known, casts, rows: new ValueTable(types, { memory, folder, refused }, context) };
}
