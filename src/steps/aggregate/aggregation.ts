import type { z } from 'zod';
import { declaredTypes, schema, type DeclaredType, type Row, type ValueOf, type Zod } from '../../core/index.js';
import { callback } from '../../options/index.js';
import { aggregateNames, aggregateOf, numberTypes, type AggregateName, type aggregates, type NumberType } from './functions.js';

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
export type Typed<A> = A extends { readonly type: infer D extends DeclaredType } ? ValueOf[D] : string;

/** The type of the result according to `aggregates`. */
type Gives<A> = {
  [N in AggregateName]: A extends NameInCode<N> | { readonly [K in NameInCode<N>]: unknown } ? (typeof aggregates)[N]['gives'] : never;
}[AggregateName];

type ResultOf<G, A> = G extends 'count' ? bigint : G extends DeclaredType ? ValueOf[G] | null : Typed<A> | null;

/** Type of a result. */
export type Result<A> = A extends unknown ? ResultOf<Gives<A>, A> : never;

/** The schema of an aggregation. */
export const aggregationShape = schema((z) => z.union(aggregateNames.flatMap((name) => formsOf(z, name))));

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
export interface Parts<T> {
  readonly aggregate: AggregateName;
  readonly argument: Condition<T> | { readonly field: string; readonly type: DeclaredType } | undefined;
}

/** Splits an aggregation into aggregate and argument. @param aggregation One that `aggregationShape` accepts. */
export function takenApart<T>(aggregation: Aggregation<T>): Parts<T> {
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
