import { unknownName, type Column, type DeclaredType } from '../../core/index.js';
import type { ConfigPath } from '../../flow/index.js';
import { expressions } from '../on-error.js';
import { sensitivityOf } from '../fields.js';
import type { PlanContext } from '../step.js';
import type { Computation } from './aggregator.js';
import { aggregateNames, aggregateOf, isAggregate, isNumberType, resultColumn, type AggregateName } from './functions.js';

/** Checks the call of an aggregate in a file, and reports any problem. @returns The column of its results. */
export function planCall(name: string, text: string, input: readonly Column[], plan: PlanContext): Column | undefined {
  const path = ['compute', name];
  const call = callIn(text);
  if ('message' in call) plan.problem(path, call.message, false, call.at);
  else if (!isAggregate(call.name)) plan.problem(path, unknownName('aggregate', call.name, aggregateNames), false, text.indexOf(call.name));
  else {
    const { name: aggregate, argument, at } = call;
    const type = typeIn(aggregate, argument, input, shifted(plan, at), path);
    if (type !== undefined) return resultColumn(name, aggregate, { type, sensitivity: sensitivityOf(argument, input) });
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

/** Returns the type of an argument's values, if it is valid. */
function typeIn(
  aggregate: AggregateName,
  argument: string,
  input: readonly Column[],
  plan: PlanContext,
  path: ConfigPath,
): DeclaredType | undefined {
  const { takes } = aggregateOf(aggregate);
  const refuse = (message: string) => {
    plan.problem(path, `${aggregate} takes ${message}`, false, 0);
    return undefined;
  };
  if (argument === '') return takes === 'rows' ? 'flag' : refuse(`a field or an expression, as in ${aggregate}(field)`);
  // A condition is an expression, in which a field is text until it is cast.
  const column = takes === 'rows' ? undefined : input.find(({ name }) => name === argument);
  const type = column?.type ?? expressions().planExpression(argument, input, plan, path)?.type;
  if (type === undefined || takes === 'values') return type;
  if (takes === 'rows') return type === 'flag' ? type : refuse(`a condition, which is true or false, but this is ${type}`);
  if (isNumberType(type)) return type;
  return refuse(`numbers, but this is ${type}${type === 'text' ? `; write ${aggregate}(num(${argument})) to read it as a number` : ''}`);
}

/** Returns the same plan for a part of a text that begins at a character. */
function shifted(plan: PlanContext, by: number): PlanContext {
  return { ...plan, problem: (path, message, onKey, at) => plan.problem(path, message, onKey, at === undefined ? undefined : by + at) };
}

/** A call of an aggregate function, as written in a file. */
interface Call {
  readonly name: string;
  /** The text between the parentheses, trimmed; may be empty. */
  readonly argument: string;
  /** Index of the first character of the argument. */
  readonly at: number;
}

/** Parses a call: `count_distinct(email)`. @returns Otherwise why it is none, and the character that this refers to. */
function callIn(text: string): Call | { readonly message: string; readonly at: number } {
  const [head = '', name] = /^\s*([A-Za-z_]\w*)\s*\(/.exec(text) ?? [];
  if (name === undefined) return { message: 'a result is a single aggregate call, like count() or max(timestamp)', at: 0 };
  const { end, comma } = closing(text, head.length);
  if (end === undefined) return { message: 'a ) is missing at the end', at: text.trimEnd().length };
  const rest = text.slice(end + 1);
  if (rest.trim() !== '') {
    const at = end + 1 + rest.length - rest.trimStart().length;
    return { message: `${text.slice(0, end + 1).trim()} is a complete result; calculate with results in a derive step after this one`, at };
  }
  if (comma !== undefined) return { message: `${name} takes one field or expression`, at: comma };
  const inner = text.slice(head.length, end);
  return { name, argument: inner.trim(), at: head.length + inner.length - inner.trimStart().length };
}

/** Returns the index at which an open parenthesis closes, and that of a comma within it; skips string literals and inner brackets. */
function closing(text: string, from: number): { readonly end?: number; readonly comma?: number } {
  let depth = 1;
  let comma: number | undefined;
  for (let at = from; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"' || character === "'") at = textEnd(text, at);
    else if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    else if (character === ',' && depth === 1) comma ??= at;
    if (depth === 0) return comma === undefined ? { end: at } : { end: at, comma };
  }
  return {};
}

/** Returns the index of the quote that ends a string literal, or the end of the text if there is none. */
function textEnd(text: string, start: number): number {
  const quote = text.charAt(start);
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== quote) at += text.charAt(at) === '\\' ? 2 : 1;
  return at;
}

/** The list of aggregates, for the reference. */
export const aggregatesListed = aggregateNames.map((name) => `${name} (${aggregateOf(name).summary})`).join(', ');
