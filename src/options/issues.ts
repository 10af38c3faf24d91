import type { z } from 'zod';
import { nearest, unknownName, zod } from '../core/index.js';

/** One problem that a schema found in a value. */
export type Issue = z.core.$ZodIssue;

/** One of the alternatives that a schema accepts at a place, as JSON Schema. */
export type Wanted = Readonly<Record<string, unknown>>;

/**
 * Returns every problem that a schema finds in a value, each with its full path. For a union, these are the problems of the alternative
 * that is evidently meant. Problems that follow from another are left out: a value of the wrong kind is not checked further, and a
 * misspelled required key is one problem, not two.
 */
export function issuesOf(wanted: z.ZodType, value: unknown): readonly Issue[] {
  const { error } = wanted.safeParse(value, { reportInput: true });
  return error ? withoutConsequences(error.issues.flatMap(ofAlternativeMeant), wanted) : [];
}

/** Returns what a schema accepts at a path; for unions, all alternatives. */
export function wantedAt(wanted: z.ZodType, path: readonly PropertyKey[]): readonly Wanted[] {
  return path.reduce<readonly Wanted[]>(
    (at, part) => at.flatMap((one) => alternativesOf(insideOf(one, part))),
    alternativesOf(zod().toJSONSchema(wanted, { io: 'input', unrepresentable: 'any' })),
  );
}

/** Returns the keys known at a place, across all alternatives. */
export function keysOf(wanted: readonly Wanted[]): readonly string[] {
  return wanted.flatMap(({ properties, propertyNames }) => {
    const names = getIn(propertyNames, ['enum']);
    return [...Object.keys(properties ?? {}), ...(Array.isArray(names) ? names.map(String) : [])];
  });
}

/**
 * Describes what is wrong with a key that a schema refuses: it is unknown, or belongs to another alternative.
 *
 * @param kind What the key is called, as in `unknown KIND 'limt', did you mean 'limit'?`.
 */
export function wrongKey(
  key: string,
  { keys, input }: Extract<Issue, { code: 'unrecognized_keys' }>,
  kind: string,
  known: readonly string[],
): string {
  if (!known.includes(key)) return unknownName(kind, key, known);
  const others = Object.keys(input ?? {}).filter((other) => !keys.includes(other));
  return `'${key}' does not go with ${others.map((other) => `'${other}'`).join(', ')}`;
}

/** Returns the value at a path; `undefined` if there is none. */
export function getIn(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? Reflect.get(inner, key) : undefined), value);
}

/** Replaces the value at an existing path. */
export function setIn(value: unknown, path: readonly PropertyKey[], to: unknown): void {
  const parent = getIn(value, path.slice(0, -1));
  const key = path.at(-1);
  if (typeof parent === 'object' && parent !== null && key !== undefined) Reflect.set(parent, key, to);
}

/** Returns the issue itself, or for a union those of the alternative that knows most keys at its own level; of several, of the one that misses the fewest. */
function ofAlternativeMeant(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const [deep] = issue.errors
    .filter((issues) => issues.some(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'))
    .sort((a, b) => unknownKeys(a) - unknownKeys(b) || a.length - b.length);
  return deep?.flatMap((inner) => ofAlternativeMeant({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
}

function unknownKeys(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys.length : 0), 0);
}

function withoutConsequences(issues: readonly Issue[], wanted: z.ZodType): readonly Issue[] {
  const misspelled = issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [];
    const known = keysOf(wantedAt(wanted, issue.path));
    return issue.keys.flatMap((key) => (known.includes(key) ? [] : [nameOf([...issue.path, nearest(key, known) ?? ''])]));
  });
  const ofAnotherKind = new Set(issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => nameOf(path)));
  return issues.filter(({ code, path, input }) => {
    if (code === 'too_small' && ofAnotherKind.has(nameOf(path))) return false;
    return code === 'unrecognized_keys' || input !== undefined || !misspelled.includes(nameOf(path));
  });
}

function nameOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

function insideOf({ items, properties, additionalProperties }: Wanted, part: PropertyKey): unknown {
  return typeof part === 'number' ? items : (getIn(properties, [part]) ?? additionalProperties);
}

function alternativesOf(wanted: unknown): readonly Wanted[] {
  if (!isRecord(wanted)) return [];
  return Array.isArray(wanted.anyOf) ? wanted.anyOf.flatMap(alternativesOf) : [wanted];
}

function isRecord(value: unknown): value is Wanted {
  return typeof value === 'object' && value !== null;
}
