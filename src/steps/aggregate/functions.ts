import { unknownName, type Column, type DeclaredType } from '../../core/index.js';
import type { Accumulator, Merging, ValueAccumulator } from './accumulator.js';
import { Averages } from './averages.js';
import { Counts } from './counts.js';
import { DistinctCounts, DistinctValues } from './distinct-values.js';
import { Extremes } from './extremes.js';
import { DoubleSums, Int64Sums } from './sums.js';

/** What can be computed of the rows of a group. Whatever an aggregate is asked for stands in its entry. */
export const aggregates = {
  count: {
    summary: 'the rows, or those for which a condition is true',
    aliases: ['size', 'count_if', 'countif'],
    takes: 'rows',
    gives: 'count',
    keeps: 'state',
    open: () => new Counts(),
  },
  count_distinct: {
    summary: 'the different values',
    aliases: ['nunique', 'distinct', 'unique', 'uniq', 'approx_count_distinct'],
    takes: 'values',
    gives: 'count',
    keeps: 'values',
    open: (type) => new DistinctValues(type),
    merging: () => new DistinctCounts(),
  },
  sum: {
    summary: 'the sum of numbers',
    aliases: ['total'],
    takes: 'numbers',
    gives: 'same',
    keeps: 'state',
    open: (type) => (type === 'integer' ? new Int64Sums() : new DoubleSums()),
  },
  min: {
    summary: 'the least value',
    aliases: ['minimum', 'first'],
    takes: 'values',
    gives: 'same',
    keeps: 'state',
    open: (type) => new Extremes(type, false),
  },
  max: {
    summary: 'the greatest value',
    aliases: ['maximum', 'last'],
    takes: 'values',
    gives: 'same',
    keeps: 'state',
    open: (type) => new Extremes(type, true),
  },
  avg: {
    summary: 'the average of numbers',
    aliases: ['average', 'mean'],
    takes: 'numbers',
    gives: 'decimal',
    keeps: 'state',
    open: (type) => new Averages(type),
  },
} as const satisfies Readonly<Record<string, AggregateFunction>>;

export type AggregateName = keyof typeof aggregates;

/** @see aggregates */
export type AggregateFunction = Accumulation & {
  /** What it gives, in a few words. */
  readonly summary: string;
  /** What it is called elsewhere. */
  readonly aliases: readonly string[];
  /** `rows`: no argument, or a condition. `numbers` and `values`: a field or an expression, whose `null` it passes over. */
  readonly takes: 'rows' | 'numbers' | 'values';
  /**
   * Type of the result. `count`: a whole number that tells nothing of the values, 0 where there are none. Of all others a result is `null`
   * there, and as sensitive as the values; with `same` it has their type.
   */
  readonly gives: 'count' | 'same' | DeclaredType;
};

/** How a result comes about. @param type Of the values. */
type Accumulation =
  | {
      readonly keeps: 'state';
      readonly open: (type: DeclaredType) => Accumulator;
    }
  | {
      readonly keeps: 'values';
      readonly open: (type: DeclaredType) => ValueAccumulator;
      /** Takes what was stored group by group: all states of a group, then its values in their order, equal ones as often as they were stored. */
      readonly merging: (type: DeclaredType) => Merging;
    };

export const aggregateNames = Object.keys(aggregates) as readonly AggregateName[];

/** The types of numbers. */
export const numberTypes = ['integer', 'decimal'] as const satisfies readonly DeclaredType[];

export type NumberType = (typeof numberTypes)[number];

export function isNumberType(type: DeclaredType): type is NumberType {
  return type === 'integer' || type === 'decimal';
}

/** The entry of an aggregate. */
export function aggregateOf(name: AggregateName): AggregateFunction {
  return aggregates[name];
}

export function isAggregate(name: string): name is AggregateName {
  return Object.hasOwn(aggregates, name);
}

/** The column of a result. @param values Type and sensitivity of the values that the aggregate takes. */
export function resultColumn(name: string, aggregate: AggregateName, values: Pick<Column, 'type' | 'sensitivity'>): Column {
  const { gives } = aggregateOf(aggregate);
  const result = { name, original: name, cast: true };
  if (gives === 'count') return { ...result, type: 'integer', sensitivity: 'plain' };
  return { ...result, type: gives === 'same' ? values.type : gives, sensitivity: values.sensitivity };
}

/** How a call is written, for messages. */
export function callOf(name: AggregateName): string {
  return aggregateOf(name).takes === 'rows' ? `${name}()` : `${name}(field)`;
}

/** The aggregate that goes by another name elsewhere. */
export function aggregateCalled(alias: string): AggregateName | undefined {
  return aggregateNames.find((name) => aggregateOf(name).aliases.includes(alias));
}

/** Says that there is no such function, and which one can be meant. */
export function unknownAggregate(name: string): string {
  const meant = aggregateCalled(name.toLowerCase());
  if (meant !== undefined) return `unknown aggregate '${name}', did you mean '${meant}'?`;
  return unknownName('aggregate', name, aggregateNames);
}
