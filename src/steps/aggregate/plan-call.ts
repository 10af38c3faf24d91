import type { Column, DeclaredType } from '../../core/index.js';
import { planExpression } from '../expression/configured.js';
import type { ConfigPath } from '../../flow/index.js';
import type { PlanContext } from '../step.js';
import { callIn } from './call.js';
import {
  aggregateCalled,
  aggregateNames,
  aggregateOf,
  callOf,
  isAggregate,
  isNumberType,
  resultColumn,
  unknownAggregate,
  type AggregateName,
} from './functions.js';
import type { Computation } from './aggregator.js';
import { requireColumn, sensitivityOf } from '../fields.js';

/** Checks the call of an aggregate in a file, and reports any problem. @returns The column of its results. */
export function planCall(name: string, text: string, input: readonly Column[], plan: PlanContext): Column | undefined {
  const path = ['compute', name];
  const call = callIn(text);
  const tell = (message: string, at?: number) => plan.problem(path, message, false, at);
  if ('message' in call) tell(call.message, call.at);
  else if (!isAggregate(call.name)) tell(unknownAggregate(call.name), text.indexOf(call.name));
  else {
    const { name: aggregate, argument, at } = call;
    const problem = argumentProblem(aggregate, argument);
    const type = problem === undefined ? typeIn(aggregate, argument, input, shifted(plan, at), path) : undefined;
    if (problem !== undefined) tell(problem, at);
    else if (type !== undefined) return resultColumn(name, aggregate, { type, sensitivity: sensitivityOf(argument, input) });
  }
  return undefined;
}

/** Returns the computation of a call that planning has accepted; an argument is identified by its text. */
export function computationOf(name: string, text: string, typeOf: (argument: string) => DeclaredType): Computation {
  const call = callIn(text);
  if ('message' in call || !isAggregate(call.name)) throw new Error(`compute.${name} was not planned`);
  const argument = call.argument === '' ? undefined : call.argument;
  return { name, aggregate: call.name, argument, type: argument === undefined ? 'flag' : typeOf(argument) };
}

function argumentProblem(aggregate: AggregateName, argument: string): string | undefined {
  // The notation of SQL.
  const [, distinct = '', field] = /^(distinct)\s+(\w+)$/i.exec(argument) ?? [];
  const meant = aggregateCalled(distinct.toLowerCase());
  if (meant !== undefined) return `different values are counted by ${meant}(${field})`;
  if (aggregateOf(aggregate).takes === 'rows') return argument === '*' ? `write ${callOf(aggregate)} to count rows` : undefined;
  return argument === '' ? `${aggregate} takes a field or an expression, as in ${callOf(aggregate)}` : undefined;
}

/** Returns the type of an argument's values, if it is valid. */
function typeIn(
  aggregate: AggregateName,
  argument: string,
  input: readonly Column[],
  plan: PlanContext,
  path: ConfigPath,
): DeclaredType | undefined {
  if (argument === '') return 'flag';
  const column = /^\w+$/.test(argument) ? input.find(({ name }) => name === argument) : undefined;
  const { takes } = aggregateOf(aggregate);
  if (takes === 'rows') return conditionIn(aggregate, argument, column, input, plan, path);
  if (column === undefined && /^[a-z_]\w*$/i.test(argument) && !['true', 'false', 'null'].includes(argument)) {
    requireColumn(argument, input, plan, path);
    return undefined;
  }
  const type = column?.type ?? planExpression(argument, input, plan, path)?.type;
  if (type === undefined || takes === 'values' || isNumberType(type)) return type;
  const given = column === undefined ? `this is ${type}` : `field '${argument}' is ${type}`;
  const remedy = column !== undefined && type === 'text' ? `; write ${aggregate}(num(${argument})) to read it as a number` : '';
  plan.problem(path, `${aggregate} takes numbers, but ${given}${remedy}`, false, 0);
  return undefined;
}

function conditionIn(
  aggregate: AggregateName,
  argument: string,
  column: Column | undefined,
  input: readonly Column[],
  plan: PlanContext,
  path: ConfigPath,
): DeclaredType | undefined {
  const type = planExpression(argument, input, plan, path)?.type;
  if (type === undefined || type === 'flag') return type;
  if (column === undefined) plan.problem(path, `${aggregate} takes a condition, which is true or false, but this is ${type}`, false, 0);
  else {
    const some = type === 'text' ? `!blank(${argument})` : `${argument} != null`;
    const those = column.type === 'flag' ? `, ${aggregate}(flag(${argument})) those where it is true` : '';
    plan.problem(
      path,
      `${aggregate} takes a condition; ${aggregate}(${some}) counts rows that have a value of '${argument}'${those}`,
      false,
      0,
    );
  }
  return undefined;
}

/** Returns the same plan for a part of a text that begins at a character. */
function shifted(plan: PlanContext, by: number): PlanContext {
  return { ...plan, problem: (path, message, onKey, at) => plan.problem(path, message, onKey, at === undefined ? undefined : by + at) };
}

/** The list of aggregates, for the reference. */
export const aggregatesListed = aggregateNames.map((name) => `${name} (${aggregateOf(name).summary})`).join(', ');
