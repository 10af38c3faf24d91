import type { Column, DeclaredType } from '../../core/index.js';

/** The aggregates of a group of rows. Everything about an aggregate is in its entry. */
export const aggregates = {
  count: {
    summary: 'number of rows, or of those for which a condition is true',
    takes: 'rows',
    gives: 'count',
    sql: (flags) => (flags === undefined ? 'count(*)' : `count(*) FILTER (WHERE ${flags})`),
  },
  count_distinct: {
    summary: 'number of distinct values',
    takes: 'values',
    gives: 'count',
    sql: (values) => `count(DISTINCT ${values})`,
  },
  sum: {
    summary: 'sum of numbers',
    takes: 'numbers',
    gives: 'same',
    sql: (values, type) => (type === 'integer' ? `sum(${values})` : `fsum(${values})`),
  },
  min: {
    summary: 'smallest value',
    takes: 'values',
    gives: 'same',
    sql: (values) => `min(${values})`,
  },
  max: {
    summary: 'largest value',
    takes: 'values',
    gives: 'same',
    sql: (values) => `max(${values})`,
  },
  avg: {
    summary: 'average of numbers',
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
