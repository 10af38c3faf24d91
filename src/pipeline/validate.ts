import { z } from 'zod';
import { nearest } from '../collections/index.js';
import type { Path } from './document.js';
import type { Problem } from './references.js';

type Issue = z.core.$ZodIssue;

/**
 * Checks a value of a pipeline file against a schema and reports each problem with the nearest right name.
 *
 * Scalars of a file are text; where the schema wants a number or a flag, a text that spells one is taken as such.
 *
 * @returns The parsed value, or `undefined` when something was reported.
 */
export function validated<T>(schema: z.ZodType<T>, value: unknown, at: Path, problem: Problem): T | undefined {
  const result = schema.safeParse(spelledOut(schema, value), { reportInput: true });
  if (result.success) return result.data;
  const place = { schema, at, problem };
  for (const issue of withoutConsequences(result.error.issues, place)) report(issue, place);
  return undefined;
}

/** Reports keys that JavaScript takes for something else: what is given to them would be lost on the way. */
export function refuseLostKeys(value: unknown, problem: Problem, at: Path = []): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const path = [...at, Array.isArray(value) ? Number(key) : key];
    if (key === '__proto__') problem(path, `'${key}' is no name: what is given to it would be lost`, true);
    else refuseLostKeys(inner, problem, path);
  }
}

/** Converts texts where the schema says that it wants a number or a flag. */
function spelledOut(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return value;
  const spelled = structuredClone(value);
  for (const issue of result.error.issues.flatMap(alternativesOf)) {
    if (issue.code !== 'invalid_type') continue;
    const converted = convert(issue.expected, getIn(spelled, issue.path));
    if (converted !== undefined) setIn(spelled, issue.path, converted);
  }
  return spelled;
}

/** An issue, or those of all alternatives of a union. */
function alternativesOf(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  return issue.errors.flat().flatMap((inner) => alternativesOf({ ...inner, path: [...issue.path, ...inner.path] }));
}

function convert(expected: string, text: unknown): number | boolean | undefined {
  if (typeof text !== 'string') return undefined;
  if (expected === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  if ((expected === 'number' || expected === 'int') && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return undefined;
}

interface Place {
  readonly schema: z.ZodType;
  readonly at: Path;
  readonly problem: Problem;
}

function report(issue: Issue, place: Place): void {
  const inner = issue.path.map(asKey);
  const path = [...place.at, ...inner];
  if (issue.code === 'unrecognized_keys') {
    const known = knownAt(issue.path, place);
    const others = Object.keys(Object(issue.input) as object).filter((key) => !issue.keys.includes(key));
    for (const key of issue.keys) {
      const message = known.includes(key)
        ? `'${key}' does not go with ${others.map((other) => `'${other}'`).join(', ')}`
        : withNearest(`unknown key '${key}'`, key, known);
      place.problem([...path, key], message, true);
    }
  } else if (issue.code === 'invalid_union') {
    reportUnion(issue, path, place);
  } else if (issue.code === 'invalid_key') {
    place.problem(path, `'${String(path.at(-1))}': ${issue.issues.map((inner) => messageOf(inner, [])).join(', ')}`, true);
  } else {
    place.problem(path, messageOf(issue, path));
  }
}

/** What is of the wrong kind is not judged further, and a key that is missing because it stands there misspelled is one problem, not two. */
function withoutConsequences(issues: readonly Issue[], place: Place): readonly Issue[] {
  const misspelled = issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [];
    const known = knownAt(issue.path, place);
    return issue.keys.flatMap((key) => (known.includes(key) ? [] : [[...issue.path, nearest(key, known)].join('.')]));
  });
  const ofAnotherKind = new Set(issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => path.join('.')));
  return issues.filter(({ code, path, input }) => {
    const place = path.join('.');
    if (code === 'too_small' && ofAnotherKind.has(place)) return false;
    return code === 'unrecognized_keys' || input !== undefined || !misspelled.includes(place);
  });
}

function knownAt(path: readonly PropertyKey[], { schema }: Place): readonly string[] {
  return keysAt(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), path.map(asKey));
}

function asKey(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}

/** Of a union, the alternative that knows most of the keys says what is wrong, or of several, the one that misses least. */
function reportUnion(issue: Extract<Issue, { code: 'invalid_union' }>, path: Path, place: Place): void {
  const [deep] = issue.errors
    .filter((issues) => issues.some(({ code, path: inner }) => inner.length > 0 || code === 'unrecognized_keys'))
    .sort((a, b) => unknownKeys(a) - unknownKeys(b) || a.length - b.length);
  if (!deep) {
    const choices = [
      ...new Set(issue.errors.flat().map((inner) => messageOf(inner, path).replace(/^(?:'.*' is missing: )?expected /, ''))),
    ].join(', or ');
    const key = path.at(-1);
    place.problem(path, issue.input === undefined && typeof key === 'string' ? missing(choices, key) : `expected ${choices}`);
    return;
  }
  const whole = deep.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
  for (const inner of withoutConsequences(whole, place)) report(inner, place);
}

function unknownKeys(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0), 0);
}

/** The keys that a schema knows at a path; of a union, those of all alternatives. */
function keysAt(schema: unknown, path: Path): readonly string[] {
  const [head, ...rest] = path;
  const alternatives = getIn(schema, ['anyOf']);
  if (Array.isArray(alternatives)) return alternatives.flatMap((alternative) => keysAt(alternative, path));
  if (head === undefined)
    return [...Object.keys(getIn(schema, ['properties']) ?? {}), ...textsIn(getIn(schema, ['propertyNames', 'enum']))];
  return keysAt(
    getIn(schema, typeof head === 'number' ? ['items'] : ['properties', head]) ?? getIn(schema, ['additionalProperties']),
    rest,
  );
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

function messageOf(issue: Issue, path: Path): string {
  const key = path.at(-1);
  if (issue.code === 'invalid_value') {
    const values = issue.values.map(String);
    if (issue.input === undefined && typeof key === 'string') return missing(`one of ${values.join(', ')}`, key);
    const near = typeof issue.input === 'string' ? nearest(issue.input, values) : undefined;
    return `expected ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}${near === undefined ? '' : `; did you mean '${near}'?`}`;
  }
  if (issue.code === 'invalid_type')
    return issue.input === undefined && typeof key === 'string'
      ? missing(kinds[issue.expected] ?? issue.expected, key)
      : `expected ${kinds[issue.expected] ?? issue.expected}${form(issue.expected, issue.input)}`;
  if (issue.code === 'too_small') return bound('at least', issue.origin, Number(issue.minimum));
  if (issue.code === 'too_big') return bound('at most', issue.origin, Number(issue.maximum));
  return issue.message;
}

/** How a value is written that is wanted where another kind of value, or none, stands. */
function form(expected: string, input: unknown): string {
  if (expected === 'array' && typeof input === 'string' && /^\w{1,40}$/.test(input)) return `, like [${input}]`;
  if ((expected === 'object' || expected === 'record') && input === '') return '; nothing stands here, and {} is an empty one';
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

/** Adds the nearest known name to a message about an unknown one, or all that are known. */
export function withNearest(message: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  if (known.length === 0) return message;
  return near === undefined ? `${message}; there are ${known.join(', ')}` : `${message}, did you mean '${near}'?`;
}

function getIn(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined), value);
}

function setIn(value: unknown, path: readonly PropertyKey[], to: unknown): void {
  const parent = getIn(value, path.slice(0, -1));
  const key = path.at(-1);
  if (typeof parent === 'object' && parent !== null && key !== undefined) Reflect.set(parent, key, to);
}
