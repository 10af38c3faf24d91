import { z } from 'zod';
import { nearest } from './collections/index.js';

type Issue = z.core.$ZodIssue;

/** A function of a caller. */
export const callback = z.custom<unknown>((value) => typeof value === 'function', 'must be a function');

/**
 * What is wrong with options that were given in code, a sentence each: the option by its name, what is wanted, and what was given.
 *
 * @param withheld Options whose values no message may show.
 *
 * @example
 * optionProblems(z.strictObject({ limit: z.number().int().min(1).max(500) }), { limit: '5' });
 * // ["limit must be a whole number from 1 to 500, not the text '5'"]
 */
export function optionProblems(schema: z.ZodType, options: unknown, withheld: readonly string[] = []): readonly string[] {
  const result = schema.safeParse(options);
  if (result.success) return [];
  const checked = {
    options,
    withheld,
    wanted: z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
    misspelled: new Set<string>(),
  };
  const problems = result.error.issues.flatMap((issue) => told(issue, checked));
  return problems.filter(({ missing }) => missing === undefined || !checked.misspelled.has(missing)).map(({ sentence }) => sentence);
}

/** Says that a name is unknown, with the nearest that is known, or all of them. */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const near = meant(name, known);
  return `unknown ${kind} '${name}'${near === undefined ? `; there are ${known.join(', ')}` : `, did you mean '${near}'?`}`;
}

/** A value as messages name it. */
export function given(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'a text' : `the text '${value}'`;
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Promise) return 'a promise, which has to be awaited';
  return Array.isArray(value) ? 'a list' : 'an object';
}

interface Told {
  readonly sentence: string;
  /** The option that is not there, when that is what is wrong. */
  readonly missing?: string;
}

interface Checked {
  readonly options: unknown;
  readonly withheld: readonly string[];
  /** The schema as JSON Schema, which says what is wanted. */
  readonly wanted: unknown;
  /** The options that unknown ones are taken for. */
  readonly misspelled: Set<string>;
}

function told(issue: Issue, checked: Checked): readonly Told[] {
  const { options, withheld, wanted, misspelled } = checked;
  const place = placeOf(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const known = keysOf(wantedAt(wanted, issue.path));
    return issue.keys.map((key) => {
      const near = meant(key, known);
      if (near !== undefined) misspelled.add(placeOf([...issue.path, near]));
      return { sentence: unknownName(place === '' ? 'option' : `option of ${place}`, key, known) };
    });
  }
  if (issue.code === 'invalid_union') {
    const [deep] = issue.errors.filter((issues) => issues.some(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'));
    if (deep) return deep.flatMap((inner) => told({ ...inner, path: [...issue.path, ...inner.path] }, checked));
  }
  const value = issue.path.reduce<unknown>((at, part) => (isRecord(at) ? Reflect.get(at, part) : undefined), options);
  const subject = place === '' ? 'what is given' : place;
  const ask = askOf(issue, wantedAt(wanted, issue.path));
  if (value === undefined && place !== '')
    return [{ sentence: `${place} is missing: ${ask.startsWith('must ') ? `it ${ask}` : ask}`, missing: place }];
  if (!ask.startsWith('must ')) return [{ sentence: `${place}: ${ask}` }];
  const near = issue.code === 'invalid_value' && typeof value === 'string' ? meant(value, issue.values.map(String)) : undefined;
  const but = withheld.includes(String(issue.path[0])) ? '' : `, not ${given(value)}`;
  return [{ sentence: `${subject} ${ask}${but}${near === undefined ? '' : `; did you mean '${near}'?`}` }];
}

/** What is asked of a value: `must be …`, or what its schema says itself. */
function askOf(issue: Issue, wanted: unknown): string {
  if (issue.code === 'custom' || issue.code === 'invalid_format') return issue.message;
  return `must be ${phraseOf(wanted)}`;
}

function phraseOf(wanted: unknown): string {
  if (!isRecord(wanted)) return 'something else';
  const { anyOf, enum: values, type } = wanted;
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map(phraseOf))].join(' or ');
  if (Array.isArray(values)) return `one of ${values.map(String).join(', ')}`;
  if ('const' in wanted) return String(wanted.description ?? wanted.const);
  if (type === 'integer') return `a whole number${rangeOf(wanted)}`;
  if (type === 'number') return `a number${rangeOf(wanted)}`;
  if (type === 'string') return 'minLength' in wanted ? 'a text that is not empty' : 'a text';
  if (type === 'boolean') return 'true or false';
  if (type === 'array') return 'minItems' in wanted ? 'a list that is not empty' : 'a list';
  return type === 'object' ? `an object with ${keysOf(wanted).join(', ')}` : 'something else';
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: Readonly<Record<string, unknown>>): string {
  if (typeof exclusiveMinimum === 'number') return ` above ${exclusiveMinimum}`;
  if (typeof minimum !== 'number') return '';
  return typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? ` from ${minimum} to ${maximum}` : ` from ${minimum} on`;
}

/** The option that is meant by another spelling, by that of pipeline files, or nearly. */
function meant(name: string, known: readonly string[]): string | undefined {
  const word = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (word === '') return undefined;
  return (
    known.find((candidate) => word.length > 2 && candidate.toLowerCase().startsWith(word)) ?? nearest(name, known) ?? nearest(word, known)
  );
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`)).join('');
}

function wantedAt(wanted: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, part) =>
      alternativesOf(at)
        .map((one) => insideOf(one, part))
        .find((one) => one !== undefined),
    wanted,
  );
}

function insideOf(wanted: unknown, part: PropertyKey): unknown {
  if (!isRecord(wanted)) return undefined;
  if (typeof part === 'number') return wanted.items;
  return isRecord(wanted.properties) ? Reflect.get(wanted.properties, part) : undefined;
}

function keysOf(wanted: unknown): readonly string[] {
  return alternativesOf(wanted).flatMap((one) => (isRecord(one) && isRecord(one.properties) ? Object.keys(one.properties) : []));
}

function alternativesOf(wanted: unknown): readonly unknown[] {
  return isRecord(wanted) && Array.isArray(wanted.anyOf) ? wanted.anyOf : [wanted];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
