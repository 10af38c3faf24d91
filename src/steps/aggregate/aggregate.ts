import type { z } from 'zod';
import { declaredTypes, schema, StepError } from '../../core/index.js';
import type { Column, DeclaredType, Row, ValueOf, Zod } from '../../core/index.js';
import { blocking, ofEachRow, pageOf, refusedCondition, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { callback, checkArguments, repeatsIn } from '../../options/index.js';
import { defaultMemory, leastMemory, memory, plainCast, scratchFolder } from '../../engine/index.js';
import { FlatVector, type Mapped, type RecordBatch } from '../../vector/index.js';
import type { Expression } from '../expression/expression.js';
import { checkDuckdb, columnName, refuseRepeats, requireColumn, requireDuckdb } from '../fields.js';
import { expressions, outcomesOf } from '../on-error.js';
import { defineStep, stepOf, type PlanContext, type StepRuntime } from '../step.js';
import { Aggregator, type AggregatePlan, type Computation, type GroupField } from './aggregator.js';
import { aggregatesListed, computationOf, planCall } from './calls.js';
import { aggregateNames, aggregateOf, numberTypes, resultColumn } from './functions.js';
import type { AggregateName, aggregates, NumberType } from './functions.js';

/** A field to group by, and the type it is read as: text by default. */
export type GroupBy<F extends string = string> = F | { readonly field: F; readonly type?: DeclaredType };

type FieldOf<B> = B extends string ? B : B extends { readonly field: infer F extends string } ? F : never;

/** The row of a group: its fields and its results. */
export type Aggregated<B extends readonly GroupBy[], C> = { readonly [G in B[number] as FieldOf<G>]: Typed<G> | null } & {
  readonly [K in keyof C]: Result<C[K]>;
};

/** The options of an aggregation. */
export interface AggregateOptions {
  /** Maximum memory for rows, in bytes, beyond which they are kept in files. At least 32,000,000; default 256,000,000. */
  readonly memory?: number | undefined;
  /** Folder for these files, which are private and have no name. Default: one in the system's temporary folder. */
  readonly folder?: string | undefined;
  /** What happens to a row with a value that does not have its type. Default `reject`; with `null` the row counts, with that value as `null`. */
  readonly onError?: OnError | undefined;
}

const taken = schema((z) => {
  const field = z.string().min(1);
  const type = z.enum(declaredTypes);
  return z.strictObject({
    by: z.array(z.union([field, z.strictObject({ field, type: type.optional() })])),
    compute: z.record(z.string(), aggregationShape()),
    options: z.strictObject({
      memory: z.number().min(leastMemory).optional(),
      folder: field.optional(),
      onError: z.enum(['reject', 'null', 'fail']).optional(),
    }),
  });
});

/**
 * Turns each group of rows into one row. It reads the stream to the end before it emits the first page. Groups are sorted by their fields,
 * `null` last; texts are compared by code points. Without fields there is one row for all rows, even if there are none. All aggregates except
 * `'count'` ignore `null`, and are `null` (a count 0) if there are no other values. Sums of whole numbers are exact; decimals are summed in the order of the rows,
 * with Kahan's compensation.
 *
 * It needs the optional package `@duckdb/node-api`. Memory: limited by `memory`; beyond it, the values used are kept in files.
 *
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid arguments; `E_STEP_VALUE` for a value that does not have its type, under `onError: 'fail'`
 * and without a context that takes rejects; `E_STEP_FUNCTION` for a condition, as in `filter`; `E_STEP_OVERFLOW` for a sum beyond 64 bits, or beyond the range
 * of a number; `E_STEP_SCRATCH` if data that does not fit into memory cannot be stored; `E_STEP_FIELD` if no row of a non-empty page has a named field.
 *
 * @example
 * service.leads.pipe(aggregate(['campaign_id'], { leads: 'count', last: { max: 'timestamp', type: 'timestamp' } }));
 * // { campaign_id: '7', timestamp: '1709164800', … }, …  ->  { campaign_id: '7', leads: 1n, last: 2024-02-29T00:00:00.000Z }
 */
export function aggregate<
  T extends Row,
  const B extends readonly GroupBy<keyof NoInfer<T> & string>[],
  const C extends Readonly<Record<string, Aggregation<NoInfer<T>>>>,
>(by: B, compute: C, options: AggregateOptions = {}, context?: StepContext): Step<T, Aggregated<B, C>> {
  const at = context?.at ?? 'aggregate';
  checkArguments(at, taken, { by, compute, options });
  checkDuckdb(at);
  const keys = by.map((each): GroupField => ({ type: 'text', ...(typeof each === 'string' ? { field: each } : each) }));
  const calls = Object.entries<Aggregation<T>>(compute).map(([name, aggregation]) => [name, takenApart(aggregation)] as const);
  const names = [...keys.map(({ field }) => field), ...Object.keys(compute)];
  const [twice] = repeatsIn(names);
  if (twice !== undefined) throw new StepError('E_STEP_CONFIG', `${at}: two columns of a group would be named ${names[twice]}`);
  if (names.length === 0) throw new StepError('E_STEP_CONFIG', `${at}: name a field or a result`);
  const read = [...keys, ...calls.map(([, { argument }]) => argument)].flatMap((each) => (typeof each === 'object' ? each.field : []));
  const config = { by: keys, compute: Object.fromEntries(calls), memory: options.memory, on_error: options.onError };
  return stepOf(aggregateStep, config, read, context, options.folder === undefined ? {} : { scratch: options.folder });
}

/** The fields and calls of a file are texts, and have the declared types of their fields. */
export interface AggregateConfig {
  readonly by?: readonly (string | GroupField)[] | undefined;
  readonly compute: Readonly<Record<string, string | Parts>>;
  readonly memory?: number | undefined;
  readonly on_error?: OnError | undefined;
}

export const aggregateStep = defineStep('aggregate', {
  summary: 'Turns each group of rows into one row with counts, sums and other results; groups are sorted by their fields.',
  config: (z): z.ZodType<AggregateConfig> =>
    z.strictObject({
      by: z
        .array(z.string().min(1))
        .optional()
        .describe(
          'Fields to group by, compared by their declared types; null is a group of its own. Groups are sorted by these fields, null last. Default: none, which makes one row of all rows, even if there are none.',
        ),
      compute: z
        .record(columnName(), z.string().min(1))
        .refine((results) => Object.keys(results).length > 0, 'name at least one result, like rows: count()')
        .describe(
          `Result by new field, one call each: ${aggregatesListed}. The argument is a field, read by its declared type, or an expression (CEL), and null is ignored; the condition of count is an expression.`,
        ),
      memory: memory().describe('Memory for groups; the rest is spilled to files in the state folder.'),
      on_error: z
        .enum(['reject', 'null', 'fail'])
        .optional()
        .describe(
          "What happens to a row with a value that does not cast or an expression that fails; with null it counts, with null as that value. Default: the pipeline's on_error.",
        ),
    }),
  blocking: true,
  examples: [
    {
      by: ['campaign_id'],
      compute: { leads: 'count()', sold: "count(lead_status == 'sold')", first: 'min(timestamp)', emails: 'count_distinct(email)' },
    },
    { compute: { leads: 'count()', mean_age: 'avg(age)' }, memory: '64MB' },
  ],
  columns: ({ by = [], compute }, input, plan) => {
    requireDuckdb(plan);
    const fields = by.map((key) => (typeof key === 'string' ? key : key.field));
    refuseRepeats(fields, plan, ['by']);
    const keys = by.flatMap((key, index): readonly Column[] => {
      const column = requireColumn(fields[index] ?? '', input, plan, ['by', index]);
      return column === undefined ? [] : [{ ...column, type: typeof key === 'string' ? column.type : key.type, cast: true }];
    });
    const results = Object.entries(compute).map(([name, call]): Column => {
      if (fields.includes(name)) plan.problem(['compute', name], `'${name}' is a field under by; give the result another name`, true);
      const column = typeof call === 'string' ? planCall(name, call, input, plan) : columnOf(name, call, input, plan);
      return column ?? { name, original: name, type: 'text', cast: true, sensitivity: 'plain' };
    });
    return [...new Map([...keys, ...results].map((column) => [column.name, column])).values()];
  },
  open: (config, runtime) => {
    const { memory: bytes = defaultMemory, on_error } = config;
    const { onError = 'reject', scratch: folder = scratchFolder() } = runtime;
    const plan = opened(config, runtime);
    return blocking(runtime, () => new Aggregator(plan, { memory: bytes, folder, onError: on_error ?? onError }, runtime));
  },
});

/** Returns the column of a result of a program. */
function columnOf(name: string, { aggregate: kind, argument }: Parts, input: readonly Column[], plan: PlanContext): Column {
  const field = typeof argument === 'object' ? argument : undefined;
  const column = field && requireColumn(field.field, input, plan, ['compute', name]);
  return resultColumn(name, kind, { type: field?.type ?? 'flag', sensitivity: column?.sensitivity ?? 'plain' });
}

function opened({ by = [], compute }: AggregateConfig, runtime: StepRuntime): AggregatePlan {
  const types = new Map(runtime.input?.map(({ name, type }) => [name, type]));
  const fields = new Map<string, GroupField>();
  const compiled = new Map<string, Expression>();
  const conditions = new Map<string, RowCondition>();

  function fieldOf(field: string): GroupField {
    const known = { field, type: types.get(field) ?? 'text' } as const;
    fields.set(field, known);
    return known;
  }

  function typeOf(argument: string): DeclaredType {
    if (types.has(argument)) return fieldOf(argument).type;
    const expression = compiled.get(argument) ?? expressions().openExpression(argument, runtime);
    compiled.set(argument, expression);
    return expression.type;
  }

  function computation(name: string, { aggregate: kind, argument }: Parts): Computation {
    if (argument === undefined) return { name, aggregate: kind, argument, type: 'flag' };
    // A separate label, since a field can be read as several types, and its own name is for the group.
    const label = `compute.${name}`;
    if (typeof argument === 'function') conditions.set(label, { at: runtime.at, name, of: argument, refused: refusedCondition });
    else fields.set(label, argument);
    return { name, aggregate: kind, argument: label, type: typeof argument === 'function' ? 'flag' : argument.type };
  }

  const keys = by.map((key) => (typeof key === 'string' ? fieldOf(key) : key));
  for (const key of keys) fields.set(key.field, key);
  const computations = Object.entries(compute).map(([name, call]) =>
    typeof call === 'string' ? computationOf(name, call, typeOf) : computation(name, call),
  );
  return { by: keys, compute: computations, read: reading(fields, compiled, conditions) };
}

/** Returns a function that reads the plain values of fields, expressions and conditions. */
function reading(
  fields: ReadonlyMap<string, GroupField>,
  expressions: ReadonlyMap<string, Expression>,
  conditions: ReadonlyMap<string, RowCondition>,
): AggregatePlan['read'] {
  const casts = Array.from(fields, ([label, { field, type }]) => ({ label, field, cast: plainCast(type) }));
  const evaluate = outcomesOf(expressions);
  const plain = new Map(Array.from(expressions, ([name, { type }]) => [name, plainCast(type)]));

  return (batch, page) => {
    const read = new Map<string, Mapped>();
    for (const { label, field, cast } of casts) read.set(label, cast(batch.columnOrNulls(field)));
    for (const [name, outcome] of evaluate(batch)) {
      const cast = plain.get(name);
      if (cast) read.set(name, both(outcome, cast(outcome.vector)));
    }
    for (const [label, condition] of conditions) read.set(label, flags(batch, page, condition));
    return read;
  };
}

type RowCondition = Parameters<typeof ofEachRow<never, boolean>>[1];

/** Reads a condition. The rows of the pages have the type that the caller named. */
function flags(batch: RecordBatch, page: number, condition: RowCondition): Mapped {
  const holds = ofEachRow(pageOf<never>(page, batch, { release: () => {} }), condition);
  return { vector: new FlatVector(holds.map((is) => (is ? true : null))), unfit: undefined };
}

/** Combines the results of two consecutive mappings. */
function both(first: Mapped, second: Mapped): Mapped {
  if (!first.unfit) return second;
  return { vector: second.vector, unfit: (row) => first.unfit?.(row) ?? second.unfit?.(row) };
}

/** The name of an aggregate in code: `countDistinct` for `count_distinct`. */
type NameInCode<N extends string> = N extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<NameInCode<Tail>>}` : N;

type Condition<T> = (row: T) => boolean;

/** The ways to write an aggregate and its argument in code, by the kind of argument. */
type Forms<N extends AggregateName, T> = {
  readonly rows: NameInCode<N> | { readonly [K in NameInCode<N>]: Condition<T> };
  readonly numbers: { readonly [K in NameInCode<N>]: keyof T & string } & { readonly type: NumberType };
  readonly values: { readonly [K in NameInCode<N>]: keyof T & string } & { readonly type?: DeclaredType };
};

/**
 * What is computed from the rows of a group: their number (`'count'`), the number of those that satisfy a condition
 * (`{ count: (row) => … }`), or another aggregate of the values of a field, such as `{ countDistinct: 'email' }` and
 * `{ sum: 'age', type: 'integer' }`. A field is read as `type`, text by default; sums and averages need numbers.
 */
export type Aggregation<T = Row> = { [N in AggregateName]: Forms<N, T>[(typeof aggregates)[N]['takes']] }[AggregateName];

/** Type of the values of a field, which is read as text by default. */
type Typed<A> = A extends { readonly type: infer D extends DeclaredType } ? ValueOf[D] : string;

/** The type of the result according to `aggregates`. */
type Gives<A> = {
  [N in AggregateName]: A extends NameInCode<N> | { readonly [K in NameInCode<N>]: unknown } ? (typeof aggregates)[N]['gives'] : never;
}[AggregateName];

type ResultOf<G, A> = G extends 'count' ? bigint : G extends DeclaredType ? ValueOf[G] | null : Typed<A> | null;

/** Type of a result. */
type Result<A> = A extends unknown ? ResultOf<Gives<A>, A> : never;

/** The schema of an aggregation. */
const aggregationShape = schema((z) => z.union(aggregateNames.flatMap((name) => formsOf(z, name))));

function formsOf(z: Zod, name: AggregateName): readonly z.ZodType[] {
  const [word, field] = [nameInCode(name), z.string().min(1)];
  const { takes } = aggregateOf(name);
  switch (takes) {
    case 'rows':
      return [z.literal(word), z.strictObject({ [word]: callback() })];
    case 'numbers':
      return [z.strictObject({ [word]: field, type: z.enum(numberTypes) })];
    case 'values':
      return [z.strictObject({ [word]: field, type: z.enum(declaredTypes).optional() })];
  }
}

/** The aggregate and the argument of an aggregation. */
export interface Parts {
  readonly aggregate: AggregateName;
  readonly argument: Condition<never> | GroupField | undefined;
}

/** Splits an aggregation into aggregate and argument. @param aggregation One that `aggregationShape` accepts. */
function takenApart<T>(aggregation: Aggregation<T>): Parts {
  const type = typeof aggregation === 'object' && 'type' in aggregation ? aggregation.type : undefined;
  const given: Readonly<Record<string, string | Condition<T> | undefined>> = typeof aggregation === 'string' ? {} : aggregation;
  for (const aggregate of aggregateNames) {
    const word = nameInCode(aggregate);
    if (aggregation === word) return { aggregate, argument: undefined };
    const argument = given[word];
    if (typeof argument === 'function') return { aggregate, argument };
    if (argument !== undefined) return { aggregate, argument: { field: argument, type: type ?? 'text' } };
  }
  throw new Error('an aggregation was not checked');
}

function nameInCode(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
