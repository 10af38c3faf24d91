import { unknownName, type DeclaredType } from '../../core/index.js';

/** What can be computed of the rows of a group. */
export const aggregates = {
  count: { summary: 'the rows, or those for which a condition is true', gives: () => 'integer' },
  count_distinct: { summary: 'the different values', gives: () => 'integer' },
  sum: { summary: 'the sum of numbers', takes: ['integer', 'decimal'], gives: (type) => type },
  min: { summary: 'the least value', gives: (type) => type },
  max: { summary: 'the greatest value', gives: (type) => type },
  avg: { summary: 'the average of numbers', takes: ['integer', 'decimal'], gives: () => 'decimal' },
} as const satisfies Readonly<Record<string, AggregateFunction>>;

interface AggregateFunction {
  /** What it gives, in a few words. */
  readonly summary: string;
  /** Types that it takes. Default: all. */
  readonly takes?: readonly DeclaredType[];
  /** Type of its result, by that of its argument. */
  gives(type: DeclaredType): DeclaredType;
}

export type AggregateName = keyof typeof aggregates;

export const aggregateNames = Object.keys(aggregates) as readonly AggregateName[];

/** Whether a function takes values of a type. */
export function takes(name: AggregateName, type: DeclaredType): boolean {
  const { takes: types }: AggregateFunction = aggregates[name];
  return types?.includes(type) ?? true;
}

/** Type of a result, by that of the argument. */
export function resultType(name: AggregateName, type: DeclaredType): DeclaredType {
  return aggregates[name].gives(type);
}

export function isAggregate(name: string): name is AggregateName {
  return Object.hasOwn(aggregates, name);
}

/** What the functions are called elsewhere. */
const aliases: Readonly<Record<string, AggregateName>> = {
  average: 'avg',
  mean: 'avg',
  total: 'sum',
  minimum: 'min',
  maximum: 'max',
  first: 'min',
  last: 'max',
  size: 'count',
  count_if: 'count',
  countif: 'count',
  nunique: 'count_distinct',
  distinct: 'count_distinct',
  unique: 'count_distinct',
  uniq: 'count_distinct',
  approx_count_distinct: 'count_distinct',
};

/** Says that there is no such function, and which one can be meant. */
export function unknownAggregate(name: string): string {
  const word = name.toLowerCase();
  const meant = Object.hasOwn(aliases, word) ? aliases[word] : undefined;
  if (meant !== undefined) return `unknown aggregate '${name}', did you mean '${meant}'?`;
  return unknownName('aggregate', name, aggregateNames);
}
