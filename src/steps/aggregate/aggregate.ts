import type { z } from 'zod';
import { declaredTypes, schema, StepError, type Column, type DeclaredType, type Row, type ValueOf } from '../../core/index.js';
import { blocking, ofEachRow, pageOf, refusedCondition, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { callback, repeatsIn } from '../../options/index.js';
import { defaultMemory, memory, plainCast, programSpill, scratchFolder, type SpillOptions } from '../../engine/index.js';
import { FlatVector, type Mapped, type RecordBatch } from '../../vector/index.js';
import type { Expression } from '../expression/expression.js';
import { expressions, outcomesOf } from '../evaluation.js';
import { checkDuckdb, columnName, onErrorKey, refuseRepeats, requireColumn, requireDuckdb } from '../fields.js';
import { checkedConfig, builtInStep, stepOf, type StepRuntime } from '../step.js';
import { ValueTable } from '../value-table.js';
import { aggregateNames, aggregateOf, aggregatesListed, callIn, numberTypes, planCall, resultType } from './calls.js';
import type { AggregateName, aggregates, Call, TypedField } from './calls.js';

/** A field to group by, and the type that it is read as: text by default. */
export type GroupBy<F extends string = string> = F | { readonly field: F; readonly type?: DeclaredType };

type FieldOf<B> = B extends string ? B : B extends { readonly field: infer F extends string } ? F : never;

/** A group's row: its fields and its results. */
export type Aggregated<B extends readonly GroupBy[], C> = { readonly [G in B[number] as FieldOf<G>]: Typed<G> | null } & {
  readonly [K in keyof C]: Result<C[K]>;
};

/** The options of an aggregation. With `onError: 'null'`, a value that does not have its type is `null`, and its row counts. */
export type AggregateOptions = SpillOptions;

/**
 * Reads all rows, and turns each group into one row. Groups are sorted by their fields, `null` last; texts are compared by code points.
 * Without fields, there is one row for all rows, even if there are none. All aggregates except `'count'` ignore `null`; without other
 * values, they are `null` (a count is 0). Sums of whole numbers are exact; decimals are summed in row order with Kahan's compensation.
 *
 * It needs the optional package `@duckdb/node-api`. Memory: limited by `memory`; beyond it, the values used are kept in files.
 *
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid arguments; `E_STEP_VALUE`, `E_STEP_SCRATCH` and `E_STEP_FIELD` as in
 * `sort`; `E_STEP_FUNCTION` for a condition, as in `filter`; `E_STEP_OVERFLOW` for a sum beyond 64 bits or beyond the range of a number.
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
  const config = checkedConfig({ name: 'aggregate', config: configOfProgram }, { by, compute }, options, context);
  checkDuckdb(at);
  const calls = Object.entries<Aggregation<T>>(compute).map(([name, aggregation]) => [name, callOf(aggregation)] as const);
  const names = [...config.by.map(({ field }) => field), ...Object.keys(compute)];
  const [twice] = repeatsIn(names);
  if (twice !== undefined) throw new StepError('E_STEP_CONFIG', `${at}: two columns of a group would be named ${names[twice]}`);
  if (names.length === 0) throw new StepError('E_STEP_CONFIG', `${at}: name a field or a result`);
  const read = [...config.by, ...calls.map(([, { argument }]) => argument)].flatMap((each) => (typeof each === 'object' ? each.field : []));
  return stepOf(aggregateStep, { ...config, compute: Object.fromEntries(calls) }, read, context, { scratch: options.folder });
}

const configOfProgram = schema((z) => {
  const field = z.string().min(1);
  const type = z.enum(declaredTypes);
  const formsOf = (name: AggregateName): readonly z.ZodType[] => {
    const word = nameInCode(name);
    const { takes } = aggregateOf(name);
    if (takes === 'rows') return [z.literal(word), z.strictObject({ [word]: callback() })];
    return [z.strictObject({ [word]: field, type: takes === 'numbers' ? z.enum(numberTypes) : type.optional() })];
  };
  return z.strictObject({
    by: z.array(
      z.union([field.transform((name) => ({ field: name, type: 'text' as const })), z.strictObject({ field, type: type.default('text') })]),
    ),
    compute: z.record(z.string(), z.union(aggregateNames.flatMap(formsOf))),
    ...programSpill(z),
  });
});

/** In a file, fields and calls are texts, and have the declared types of their fields. */
export interface AggregateConfig {
  readonly by?: readonly (string | TypedField)[] | undefined;
  readonly compute: Readonly<Record<string, string | Call>>;
  readonly memory?: number | undefined;
  readonly on_error?: OnError | undefined;
}

export const aggregateStep = builtInStep('aggregate', {
  summary: 'Turns each group of rows into one row with counts, sums and other results; groups are sorted by their fields.',
  config: (z): z.ZodType<AggregateConfig> =>
    z.strictObject({
      by: z
        .array(z.string().min(1))
        .optional()
        .describe(
          'Fields to group by, compared by their declared types; null is a group of its own. Groups are sorted by these fields, null last. Default: none: one row for all rows, even if there are none.',
        ),
      compute: z
        .record(columnName(), z.string().min(1))
        .refine((results) => Object.keys(results).length > 0, 'name at least one result, like rows: count()')
        .describe(
          `Result by new field, one call each: ${aggregatesListed}. The argument is a field, read by its declared type, or an expression (CEL), and null is ignored; the condition of count is an expression.`,
        ),
      memory: memory().describe('Memory for groups; the rest is spilled to files in the state folder.'),
      on_error: onErrorKey(z, 'with a value that does not cast or an expression that fails; with null, that value is null'),
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
    const results = Object.entries(compute).map(([name, call]) => {
      if (fields.includes(name)) plan.problem(['compute', name], `'${name}' is a field under by; give the result another name`, true);
      return planCall(name, call, input, plan);
    });
    return [...new Map([...keys, ...results].map((column) => [column.name, column])).values()];
  },
  open: (config, runtime) => {
    const { memory: bytes = defaultMemory, on_error } = config;
    const { scratch: folder = scratchFolder(), onError = 'reject' } = runtime;
    const { types, query, columns, read } = opened(config, runtime);
    return blocking(runtime, () => {
      const table = new ValueTable(types, { memory: bytes, folder }, runtime);
      return {
        add: (batch, page) => table.add(batch, page, read(batch, page), on_error ?? onError),
        finish: () => table.result(query, columns),
        close: () => table.close(),
      };
    });
  },
});

/** Returns the labelled values that an aggregation reads, and the query over them. */
function opened({ by = [], compute }: AggregateConfig, runtime: StepRuntime) {
  const { at, input = [] } = runtime;
  const fields = new Map<string, TypedField>();
  const compiled = new Map<string, Expression>();
  const conditions = new Map<string, Parameters<typeof ofEachRow<never, boolean>>[1]>();
  const values = new Map<string, DeclaredType>();

  /** Returns a label. A field can be read as several types; the first of them gets its name. */
  function labelOf(name: string, argument: Call['argument']): string | undefined {
    if (argument === undefined) return undefined;
    if (typeof argument === 'object') {
      const label = (values.get(argument.field) ?? argument.type) === argument.type ? argument.field : `compute.${name}`;
      fields.set(label, argument);
      values.set(label, argument.type);
      return label;
    }
    if (typeof argument === 'function') {
      const label = `compute.${name}`;
      conditions.set(label, { at, name, of: argument, refused: refusedCondition });
      values.set(label, 'flag');
      return label;
    }
    const expression = compiled.get(argument) ?? expressions().openExpression(argument, runtime);
    compiled.set(argument, expression);
    values.set(argument, expression.type);
    return argument;
  }

  const keys = by.map((key) =>
    typeof key === 'string' ? { field: key, type: input.find(({ name }) => name === key)?.type ?? 'text' } : key,
  );
  for (const key of keys) labelOf(key.field, key);
  const calls = Object.entries(compute).map(([name, given]) => {
    const call = typeof given === 'string' ? callIn(given, input) : given;
    if ('message' in call) throw new StepError('E_STEP_CONFIG', `${at}: compute.${name}: ${call.message}`);
    const label = labelOf(name, call.argument);
    return { name, label, aggregate: call.aggregate, type: (label === undefined ? undefined : values.get(label)) ?? 'flag' };
  });
  // In the order in which `read` returns them.
  const labels = [...new Set([...fields.keys(), ...compiled.keys(), ...conditions.keys()])];
  const columnOf = (label: string) => `value${labels.indexOf(label)}`;
  const groups = keys.map(({ field }) => columnOf(field));
  const results = calls.map(({ aggregate, label, type }) => aggregateOf(aggregate).sql(label && columnOf(label), type));
  const grouped = groups.length === 0 ? '' : ` GROUP BY ${groups.join()} ORDER BY ${groups.map((key) => `${key} NULLS LAST`).join()}`;
  const query = `SELECT ${[...groups, ...results].join()} FROM rows${grouped}`;
  const columns = [
    ...keys.map(({ field, type }) => ({ name: field, type })),
    ...calls.map(({ name, aggregate, type }) => ({ name, type: resultType(aggregate, type) })),
  ];

  const casts = Array.from(fields, ([label, { field, type }]) => ({ label, field, cast: plainCast(type) }));
  const evaluate = outcomesOf(compiled);
  const plain = new Map(Array.from(compiled, ([label, { type }]) => [label, plainCast(type)]));

  function read(batch: RecordBatch, page: number): ReadonlyMap<string, Mapped> {
    const found = new Map<string, Mapped>();
    for (const { label, field, cast } of casts) found.set(label, cast(batch.columnOrNulls(field)));
    for (const [label, { vector, unfit }] of evaluate(batch)) {
      const cast = plain.get(label)?.(vector);
      if (cast) found.set(label, { vector: cast.vector, unfit: unfit ? (row) => unfit(row) ?? cast.unfit?.(row) : cast.unfit });
    }
    for (const [label, condition] of conditions) {
      // The rows have the type that the caller named.
      const holds = ofEachRow(pageOf<never>(page, batch, { release: () => {} }), condition);
      found.set(label, { vector: new FlatVector(holds.map((is) => (is ? true : null))), unfit: undefined });
    }
    return found;
  }

  return { types: labels.map((label) => values.get(label) ?? 'flag'), query, columns, read };
}

type NameInCode<N extends string> = N extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<NameInCode<Tail>>}` : N;

type Condition<T> = (row: T) => boolean;

/** How an aggregate and its argument are written in code, by the kind of argument. */
type Forms<N extends AggregateName, T> = {
  readonly rows: NameInCode<N> | { readonly [K in NameInCode<N>]: Condition<T> };
  readonly numbers: { readonly [K in NameInCode<N>]: keyof T & string } & { readonly type: (typeof numberTypes)[number] };
  readonly values: { readonly [K in NameInCode<N>]: keyof T & string } & { readonly type?: DeclaredType };
};

/**
 * A result of a group: its number of rows (`'count'`), the number of those that satisfy a condition (`{ count: (row) => … }`), or another
 * aggregate of a field's values, such as `{ countDistinct: 'email' }` and `{ sum: 'age', type: 'integer' }`. A field is read as `type`,
 * text by default; sums and averages need numbers.
 */
export type Aggregation<T = Row> = { [N in AggregateName]: Forms<N, T>[(typeof aggregates)[N]['takes']] }[AggregateName];

type Typed<A> = A extends { readonly type: infer D extends DeclaredType } ? ValueOf[D] : string;

type Gives<A> = {
  [N in AggregateName]: A extends NameInCode<N> | { readonly [K in NameInCode<N>]: unknown } ? (typeof aggregates)[N]['gives'] : never;
}[AggregateName];

type ResultOf<G, A> = G extends 'count' ? bigint : G extends DeclaredType ? ValueOf[G] | null : Typed<A> | null;

type Result<A> = A extends unknown ? ResultOf<Gives<A>, A> : never;

function callOf<T>(aggregation: Aggregation<T>): Call {
  const type = typeof aggregation === 'object' && 'type' in aggregation ? aggregation.type : undefined;
  const given = typeof aggregation === 'object' ? Object.entries<string | Condition<T> | undefined>(aggregation) : [];
  const [word, argument] = given.find(([key]) => key !== 'type') ?? [aggregation, undefined];
  const aggregate = aggregateNames.find((name) => nameInCode(name) === word);
  if (!aggregate) throw new Error('an aggregation was not checked');
  return { aggregate, argument: typeof argument === 'string' ? { field: argument, type: type ?? 'text' } : argument };
}

function nameInCode(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
