import type { z } from 'zod';
import { issuesOf, keysOf, wantedAt, wrongKey, type Issue } from '../../options/index.js';
import { hintAt } from '../../core/index.js';
import type { Path } from './document.js';
import type { Problem } from './references.js';
import { spelledOut } from './spelled-out.js';

/**
 * Checks a value of a pipeline file against a schema and reports each problem, suggesting the nearest valid name.
 *
 * Scalars of a file are text; where the schema requires a number or boolean, a text in that notation is converted.
 *
 * @param examples Valid values, to show if the value is of another kind.
 * @returns The parsed value; `undefined` if it is invalid.
 */
export function validated<T>(
  schema: z.ZodType<T>,
  value: unknown,
  at: Path,
  problem: Problem,
  examples: readonly unknown[] = [],
): T | undefined {
  const spelled = spelledOut(schema, value);
  const result = schema.safeParse(spelled);
  if (result.success) return result.data;
  for (const issue of issuesOf(schema, spelled)) report(issue, { schema, at, problem, examples });
  return undefined;
}

/** Reports keys with a special meaning in JavaScript, whose values would be lost. */
export function refuseLostKeys(value: unknown, problem: Problem, at: Path = []): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const path = [...at, Array.isArray(value) ? Number(key) : key];
    if (key === '__proto__') problem(path, `'${key}' is not a valid name: its value would be lost`, true);
    else refuseLostKeys(inner, problem, path);
  }
}

interface Place {
  readonly schema: z.ZodType;
  readonly at: Path;
  readonly problem: Problem;
  readonly examples: readonly unknown[];
}

function report(issue: Issue, place: Place): void {
  const inner = issue.path.map(asKey);
  const path = [...place.at, ...inner];
  if (issue.code === 'unrecognized_keys') {
    const known = keysOf(wantedAt(place.schema, inner));
    for (const key of issue.keys) place.problem([...path, key], wrongKey(key, issue, 'key', known), true);
  } else if (issue.code === 'invalid_union') {
    reportUnion(issue, path, place);
  } else if (issue.code === 'invalid_key') {
    place.problem(path, `'${String(path.at(-1))}': ${issue.issues.map((inner) => messageOf(inner, [])).join(', ')}`, true);
  } else {
    const message = messageOf(issue, path);
    const isBare = issue.code === 'invalid_type' && inner.length === 0 && message === `expected ${kinds[issue.expected]}`;
    const isSentence = issue.code === 'custom' && !/^(?:must|needs|it) /.test(message);
    place.problem(path, isSentence ? message : named(path, isBare ? `${message}${likeOneOf(place.examples)}` : message));
  }
}

/** Adds the key of a value to a message, unless the message already contains it. */
function named(path: Path, message: string): string {
  const at = path.findLastIndex((part) => typeof part === 'string');
  const key = path[at];
  if (key === undefined || message.includes(`'${key}'`)) return message;
  const entries = path.slice(at + 1).map((index) => `[${index}]`);
  return `${key}${entries.join('')}: ${message}`;
}

/** Returns the first example that is not empty, as written in a file. */
function likeOneOf(examples: readonly unknown[]): string {
  const example = examples.map(flowOf).find((text) => text !== '{}');
  return example === undefined ? '' : `, like ${example}`;
}

function flowOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).map(([key, inner]) => `${key}: ${flowOf(inner)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

function asKey(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}

/** Reports all alternatives of a union, since none is more likely than the others. */
function reportUnion(issue: Extract<Issue, { code: 'invalid_union' }>, path: Path, { problem }: Place): void {
  const expected = issue.errors.flat().map((inner) => messageOf(inner, path).replace(/^(?:'.*' is missing: )?expected /, ''));
  const choices = [...new Set(expected)].join(', or ');
  const key = path.at(-1);
  problem(path, issue.input === undefined && typeof key === 'string' ? missing(choices, key) : named(path, `expected ${choices}`));
}

function messageOf(issue: Issue, path: Path): string {
  const key = path.at(-1);
  if (issue.code === 'invalid_value' && !issue.message.startsWith('Invalid ')) return issue.message;
  if (issue.code === 'invalid_value') {
    const values = issue.values.map(String);
    if (issue.input === undefined && typeof key === 'string') return missing(`one of ${values.join(', ')}`, key);
    return `expected ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}${hintAt(issue.input, values)}`;
  }
  // A message of the schema is more specific than one derived from its type.
  if (issue.code === 'invalid_type' && !issue.message.startsWith('Invalid input')) return issue.message;
  if (issue.code === 'invalid_type')
    return issue.input === undefined && typeof key === 'string'
      ? missing(kinds[issue.expected] ?? issue.expected, key)
      : `expected ${kinds[issue.expected] ?? issue.expected}${form(issue.expected, issue.input)}`;
  if (issue.code === 'too_small') return bound('at least', issue.origin, Number(issue.minimum));
  if (issue.code === 'too_big') return bound('at most', issue.origin, Number(issue.maximum));
  return issue.message;
}

/** Suggests how to write a value that is missing or of another kind. */
function form(expected: string, input: unknown): string {
  if (expected === 'array' && typeof input === 'object' && input !== null) return "; put '- ' in front of each entry";
  if (expected === 'record' && typeof input === 'string' && /^\w{1,40}$/.test(input)) return `, like ${input}: {}`;
  if (expected === 'array' && typeof input === 'string' && /^\w{1,40}$/.test(input)) return `, like [${input}]`;
  if ((expected === 'object' || expected === 'record') && input === '') return '; the value is empty: write {} for an empty map';
  return '';
}

function bound(most: string, origin: string, count: number): string {
  if (origin === 'string') return count === 1 ? 'must not be empty' : `must have ${most} ${count} characters`;
  return origin === 'array' ? `must have ${most} ${count === 1 ? 'one entry' : `${count} entries`}` : `must be ${most} ${count}`;
}

function missing(expected: string, key: string): string {
  return `'${key}' is missing: expected ${expected}`;
}

const kinds: Readonly<Record<string, string>> = {
  object: 'a map',
  record: 'a map',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};
