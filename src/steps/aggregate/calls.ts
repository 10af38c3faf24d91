import { unknownName, type Column, type DeclaredType } from '../../core/index.js';
import { expressions } from '../evaluation.js';
import { requireColumn, sensitivityOf } from '../fields.js';
import type { PlanContext } from '../step.js';

/** The aggregates. All about an aggregate is in its entry. */
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

export interface AggregateFunction {
  readonly summary: string;
  /** `rows`: no argument, or a condition. `numbers` and `values`: a field or an expression, whose `null` is ignored. */
  readonly takes: 'rows' | 'numbers' | 'values';
  /**
   * Type of the result. `count`: a whole number, 0 without values, that reveals nothing about them. All others are `null` in that case and
   * as sensitive as the values; `same` has their type.
   */
  readonly gives: 'count' | 'same' | DeclaredType;
  /** How DuckDB computes it. @param values The column of values, if any. Fractions are summed in row order with Kahan's compensation. */
  sql(values: string | undefined, type: DeclaredType): string;
}

export const aggregateNames = Object.keys(aggregates) as readonly AggregateName[];

export const numberTypes = ['integer', 'decimal'] as const satisfies readonly DeclaredType[];

export function aggregateOf(name: AggregateName): AggregateFunction {
  return aggregates[name];
}

export const aggregatesListed = aggregateNames.map((name) => `${name} (${aggregateOf(name).summary})`).join(', ');

export interface TypedField {
  readonly field: string;
  readonly type: DeclaredType;
}

/** An aggregate and its argument: none, a field, the condition of a program, or the expression of a file. */
export interface Call {
  readonly aggregate: AggregateName;
  readonly argument: TypedField | ((row: never) => boolean) | string | undefined;
}

/** Parses a call in a file: `count_distinct(email)`. @returns Otherwise what is wrong with it. */
export function callIn(text: string, input: readonly Column[]): Call | { readonly message: string } {
  const [, name = '', given = ''] = /^\s*([A-Za-z_]\w*)\s*\((.*)\)\s*$/s.exec(text) ?? [];
  if (name === '') return { message: 'a result is a single aggregate call, like count() or max(timestamp)' };
  const aggregate = aggregateNames.find((each) => each === name);
  if (!aggregate) return { message: unknownName('aggregate', name, aggregateNames) };
  // What follows a complete call, as in sum(a) + sum(b), makes this an expression that does not parse.
  const argument = given.trim();
  if (argument === '') return { aggregate, argument: undefined };
  // A condition is an expression, in which fields are text until they are cast.
  const column = aggregateOf(aggregate).takes === 'rows' ? undefined : input.find((each) => each.name === argument);
  return { aggregate, argument: column ? { field: argument, type: column.type } : argument };
}

/** Checks a call, and reports problems. @returns The column of its results. */
export function planCall(name: string, given: string | Call, input: readonly Column[], plan: PlanContext): Column {
  const path = ['compute', name];
  const call = typeof given === 'string' ? callIn(given, input) : given;
  const origin = typeof given === 'string' ? given : undefined;
  const unknown: Column = { name, original: name, type: 'text', cast: true, sensitivity: 'plain', origin };
  if ('message' in call) {
    plan.problem(path, call.message);
    return unknown;
  }
  const { aggregate, argument } = call;
  const column = typeof argument === 'object' ? requireColumn(argument.field, input, plan, path) : undefined;
  const type =
    typeof argument === 'string'
      ? expressions().planExpression(argument, input, plan, path)?.type
      : typeof argument === 'object'
        ? argument.type
        : 'flag';
  if (type === undefined) return unknown;
  const misused = misuse(call, type);
  if (misused !== undefined) plan.problem(path, `${aggregate} takes ${misused}`);
  const seen = typeof argument === 'string' ? sensitivityOf(argument, input) : (column?.sensitivity ?? 'plain');
  const sensitivity = aggregateOf(aggregate).gives === 'count' ? 'plain' : seen;
  return { ...unknown, type: resultType(aggregate, type), sensitivity };
}

/** Returns the type of a result. @param type Of the values that the aggregate takes. */
export function resultType(aggregate: AggregateName, type: DeclaredType): DeclaredType {
  const { gives } = aggregateOf(aggregate);
  return gives === 'count' ? 'integer' : gives === 'same' ? type : gives;
}

/** Returns what an aggregate takes instead of values of a type; `undefined` if it takes them. */
function misuse({ aggregate, argument }: Call, type: DeclaredType): string | undefined {
  const { takes } = aggregateOf(aggregate);
  if (argument === undefined) return takes === 'rows' ? undefined : `a field or an expression, as in ${aggregate}(field)`;
  if (takes === 'rows') return type === 'flag' ? undefined : `a condition, which is true or false, but this is ${type}`;
  if (takes === 'values' || type === 'integer' || type === 'decimal') return undefined;
  return `numbers, but this is ${type}${type === 'text' ? `; write ${aggregate}(num(…)) to read it as a number` : ''}`;
}
