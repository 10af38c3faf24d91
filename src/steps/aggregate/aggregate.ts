import { pipe } from 'rxjs';
import type { z } from 'zod';
import { declaredTypes, schema, StepError } from '../../core/index.js';
import type { Column, DeclaredType, Row, ValueOf, Zod } from '../../core/index.js';
import {
  blocking,
  ofEachRow,
  pageOf,
  refusedCondition,
  type ColumnsContext,
  type OnError,
  type Step,
  type StepContext,
} from '../../flow/index.js';
import { callback, checkArguments, repeatsIn } from '../../options/index.js';
import { defaultMemory, leastMemory, plainCast, scratchFolder } from '../../engine/index.js';
import { FlatVector, type Mapped } from '../../vector/index.js';
import { Aggregator, type AggregatePlan, type Computation } from './aggregator.js';
import { aggregateNames, aggregateOf, numberTypes, resultColumn } from './functions.js';
import type { AggregateName, aggregates, NumberType } from './functions.js';
import { checkDuckdb, requireColumn, requireFields } from '../fields.js';
import { counting } from '../step.js';

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
  const { plan, fields } = planOf<T>(by, compute, at);
  const { memory = defaultMemory, folder = scratchFolder(), onError = 'reject' } = options;
  const columns = (input: readonly Column[], checked: ColumnsContext) => groupColumns(by, compute, input, checked);
  const made = (counted: StepContext) =>
    pipe(
      requireFields<T>(at, fields),
      blocking<T, Aggregated<B, C>>(counted, () => new Aggregator(plan, { memory, folder, onError }, counted)),
    );
  return counting('aggregate', context, columns, made, { blocking: true });
}

function planOf<T extends Row>(by: readonly GroupBy[], compute: Readonly<Record<string, Aggregation<T>>>, at: string) {
  const keys = by.map((each) => (typeof each === 'string' ? { field: each, type: 'text' as const } : { type: 'text' as const, ...each }));
  const names = [...keys.map(({ field }) => field), ...Object.keys(compute)];
  const [twice] = repeatsIn(names);
  if (twice !== undefined) throw new StepError('E_STEP_CONFIG', `${at}: two columns of a group would be named ${names[twice]}`);
  if (names.length === 0) throw new StepError('E_STEP_CONFIG', `${at}: name a field or a result`);
  const reads = new Map<string, Read>(keys.map((key) => [key.field, reading(key)]));
  const fields = new Set(keys.map(({ field }) => field));

  const computations = Object.entries<Aggregation<T>>(compute).map(([name, aggregation]): Computation => {
    const { aggregate: kind, argument } = takenApart(aggregation);
    if (argument === undefined) return { name, aggregate: kind, argument, type: 'flag' };
    // A separate label, since a field can be read as several types, and its own name is for the group.
    const label = `compute.${name}`;
    if (typeof argument === 'function') {
      reads.set(label, conditionOf(argument, at, name));
      return { name, aggregate: kind, argument: label, type: 'flag' };
    }
    fields.add(argument.field);
    reads.set(label, reading(argument));
    return { name, aggregate: kind, argument: label, type: argument.type };
  });
  const plan: AggregatePlan = {
    by: keys,
    compute: computations,
    read: (batch, page) => new Map(Array.from(reads, ([label, read]) => [label, read(batch, page)])),
  };
  return { plan, fields: [...fields] };
}

type Read = (...page: Parameters<AggregatePlan['read']>) => Mapped;

function reading({ field, type }: { readonly field: string; readonly type: DeclaredType }): Read {
  const cast = plainCast(type);
  return (batch) => cast(batch.columnOrNulls(field));
}

/** Reads a condition. The rows of the pages have the type that the caller named. */
function conditionOf<T extends Row>(condition: (row: T) => boolean, at: string, name: string): Read {
  return (batch, number) => {
    const page = pageOf<T>(number, batch, { release: () => {} });
    const holds = ofEachRow(page, { at, name, of: condition, refused: refusedCondition });
    return { vector: new FlatVector(holds.map((is) => (is ? true : null))), unfit: undefined };
  };
}

/** Returns the output columns: the fields as they are read, and the results. */
function groupColumns<T>(
  by: readonly GroupBy[],
  compute: Readonly<Record<string, Aggregation<T>>>,
  input: readonly Column[],
  context: ColumnsContext,
): readonly Column[] {
  const keys = by.flatMap((each, index): readonly Column[] => {
    const { field, type = 'text' } = typeof each === 'string' ? { field: each } : each;
    const column = requireColumn(field, input, context, ['by', index]);
    return column ? [{ ...column, type, cast: true }] : [];
  });
  const results = Object.entries(compute).map(([name, aggregation]): Column => {
    const { aggregate: kind, argument } = takenApart(aggregation);
    const field = typeof argument === 'object' ? argument : undefined;
    const column = field && requireColumn(field.field, input, context, ['compute', name]);
    return resultColumn(name, kind, { type: field?.type ?? 'flag', sensitivity: column?.sensitivity ?? 'plain' });
  });
  return [...keys, ...results];
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
interface Parts<T> {
  readonly aggregate: AggregateName;
  readonly argument: Condition<T> | { readonly field: string; readonly type: DeclaredType } | undefined;
}

/** Splits an aggregation into aggregate and argument. @param aggregation One that `aggregationShape` accepts. */
function takenApart<T>(aggregation: Aggregation<T>): Parts<T> {
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
