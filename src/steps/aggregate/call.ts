import { callOf, isAggregate } from './functions.js';

/** A call of an aggregate function, as written in a file. */
export interface Call {
  readonly name: string;
  /** The text between the parentheses, trimmed; may be empty. */
  readonly argument: string;
  /** Index of the first character of the argument. */
  readonly at: number;
}

/** Why a text is not a call. */
export interface CallProblem {
  readonly message: string;
  /** Index of the character that the problem refers to. */
  readonly at: number;
}

/** Parses a call: `count_distinct(email)`. */
export function callIn(text: string): Call | CallProblem {
  const [head = '', name] = /^\s*([A-Za-z_]\w*)\s*\(/.exec(text) ?? [];
  if (name === undefined) return { message: notCalled(text.trim()), at: text.length - text.trimStart().length };
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

function notCalled(text: string): string {
  const name = text.toLowerCase();
  if (isAggregate(name)) return `${name} is a function; write ${callOf(name)}`;
  return 'a result is a single aggregate call, like count() or max(timestamp)';
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
