import { callOf, isAggregate } from './functions.js';

/** One call of an aggregate function, as a file writes it. */
export interface Call {
  readonly name: string;
  /** What stands between the parentheses, without spaces around it; empty when nothing does. */
  readonly argument: string;
  /** Where the argument begins, as a character from 0. */
  readonly at: number;
}

/** Why a text is no call. */
export interface CallProblem {
  readonly message: string;
  /** The character that it is about, from 0. */
  readonly at: number;
}

/** Takes a call apart: `count_distinct(email)`. */
export function callIn(text: string): Call | CallProblem {
  const [head = '', name] = /^\s*([A-Za-z_]\w*)\s*\(/.exec(text) ?? [];
  if (name === undefined) return { message: notCalled(text.trim()), at: text.length - text.trimStart().length };
  const { end, comma } = closing(text, head.length);
  if (end === undefined) return { message: 'a ) is missing at the end', at: text.trimEnd().length };
  const rest = text.slice(end + 1);
  if (rest.trim() !== '') {
    const at = end + 1 + rest.length - rest.trimStart().length;
    return { message: `${text.slice(0, end + 1).trim()} is a result by itself; compute with results in a derive after this step`, at };
  }
  if (comma !== undefined) return { message: `${name} takes one field or expression`, at: comma };
  const inner = text.slice(head.length, end);
  return { name, argument: inner.trim(), at: head.length + inner.length - inner.trimStart().length };
}

function notCalled(text: string): string {
  const name = text.toLowerCase();
  if (isAggregate(name)) return `${name} is called, as in ${callOf(name)}`;
  return 'a result is one call of an aggregate, like count() or max(timestamp)';
}

/** Where the parenthesis that is open at a place closes, and where a comma stands within it; texts and inner brackets are passed over. */
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

/** The quote that ends a text, or the end of all where none does. */
function textEnd(text: string, start: number): number {
  const quote = text.charAt(start);
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== quote) at += text.charAt(at) === '\\' ? 2 : 1;
  return at;
}
