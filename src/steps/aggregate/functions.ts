import { unknownName, type Column, type DeclaredType } from '../../core/index.js';

/** The aggregates of a group of rows. Everything about an aggregate is in its entry. */
export const aggregates = {
  count: {
    summary: 'number of rows, or of those for which a condition is true',
    aliases: ['size', 'count_if', 'countif'],
    takes: 'rows',
    gives: 'count',
    sql: (flags) => (flags === undefined ? 'count(*)' : `count(*) FILTER (WHERE ${flags})`),
  },
  count_distinct: {
    summary: 'number of distinct values',
    aliases: ['nunique', 'distinct', 'unique', 'uniq', 'approx_count_distinct'],
    takes: 'values',
    gives: 'count',
    sql: (values) => `count(DISTINCT ${values})`,
  },
  sum: {
    summary: 'sum of numbers',
    aliases: ['total'],
    takes: 'numbers',
    gives: 'same',
    sql: (values, type) => (type === 'integer' ? `sum(${values})` : `fsum(${values})`),
  },
  min: {
    summary: 'smallest value',
    aliases: ['minimum', 'first'],
    takes: 'values',
    gives: 'same',
    sql: (values) => `min(${values})`,
  },
  max: {
    summary: 'largest value',
    aliases: ['maximum', 'last'],
    takes: 'values',
    gives: 'same',
    sql: (values) => `max(${values})`,
  },
  avg: {
    summary: 'average of numbers',
    aliases: ['average', 'mean'],
    takes: 'numbers',
    gives: 'decimal',
    sql: (values, type) => (type === 'integer' ? `avg(${values})` : `favg(${values})`),
  },
} as const satisfies Readonly<Record<string, AggregateFunction>>;

export type AggregateName = keyof typeof aggregates;

/** An entry of `aggregates`. */
export interface AggregateFunction {
  /** The result, in a few words. */
  readonly summary: string;
  /** Names for it in other tools. */
  readonly aliases: readonly string[];
  /** `rows`: no argument, or a condition. `numbers` and `values`: a field or an expression, whose `null` is ignored. */
  readonly takes: 'rows' | 'numbers' | 'values';
  /**
   * Type of the result. `count`: a whole number that reveals nothing about the values, 0 if there are none. All other results are `null` in that case, and as
   * sensitive as the values; with `same` they have the type of the values.
   */
  readonly gives: 'count' | 'same' | DeclaredType;
  /** How DuckDB computes it. @param values Column of the values, if it takes any. Numbers with a fraction are summed with Kahan's compensation, as they came. */
  sql(values: string | undefined, type: DeclaredType): string;
}

export const aggregateNames = Object.keys(aggregates) as readonly AggregateName[];

/** The numeric types. */
export const numberTypes = ['integer', 'decimal'] as const satisfies readonly DeclaredType[];

export type NumberType = (typeof numberTypes)[number];

export function isNumberType(type: DeclaredType): type is NumberType {
  return type === 'integer' || type === 'decimal';
}

/** Returns the entry of an aggregate. */
export function aggregateOf(name: AggregateName): AggregateFunction {
  return aggregates[name];
}

export function isAggregate(name: string): name is AggregateName {
  return Object.hasOwn(aggregates, name);
}

/** Returns the column of a result. @param values Type and sensitivity of the values that the aggregate takes. */
export function resultColumn(name: string, aggregate: AggregateName, values: Pick<Column, 'type' | 'sensitivity'>): Column {
  const { gives } = aggregateOf(aggregate);
  const result = { name, original: name, cast: true };
  if (gives === 'count') return { ...result, type: 'integer', sensitivity: 'plain' };
  return { ...result, type: gives === 'same' ? values.type : gives, sensitivity: values.sensitivity };
}

/** Returns the form of a call, for messages. */
export function callOf(name: AggregateName): string {
  return aggregateOf(name).takes === 'rows' ? `${name}()` : `${name}(field)`;
}

/** Returns the aggregate that has another name in other tools. */
export function aggregateCalled(alias: string): AggregateName | undefined {
  return aggregateNames.find((name) => aggregateOf(name).aliases.includes(alias));
}

/** Describes an unknown aggregate, suggesting the one that may be meant. */
export function unknownAggregate(name: string): string {
  const meant = aggregateCalled(name.toLowerCase());
  if (meant !== undefined) return `unknown aggregate '${name}', did you mean '${meant}'?`;
  return unknownName('aggregate', name, aggregateNames);
}
