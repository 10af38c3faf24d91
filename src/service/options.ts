import type { z } from 'zod';
import { LeadstreamError, nearest, schema, zod } from '../core/index.js';

/** Accepts a whole number from `min` to `max`, also as text from the command line. */
export function whole(min: number, max = Infinity) {
  const is = (value: unknown) => /^\d+$/.test(String(value)) && Number(value) >= min && Number(value) <= max;
  return zod()
    .custom<number>(is, max === Infinity ? `needs a whole number, at least ${min}` : `needs a whole number from ${min} to ${max}`)
    .transform(Number);
}

/** Accepts a share from 0 to 1, also as text. */
export const share = schema((z) =>
  z
    .custom<number>((value) => /^\d*\.?\d+(e-\d+)?$/.test(String(value)) && Number(value) <= 1, 'needs a share from 0 to 1')
    .transform(Number),
);

/** Accepts one of these words. */
export function oneOf<T extends string>(words: readonly T[]) {
  return zod().enum<T[]>([...words], `needs one of ${words.join(', ')}`);
}

/** Accepts one or more of these words, as a list or as text with a + between them. */
export function someOf<T extends string>(words: readonly T[]) {
  const list = zod().array(oneOf(words)).min(1);
  const split = (value: unknown): unknown => (typeof value === 'string' ? value.split('+') : value);
  return zod()
    .custom<readonly T[]>((value) => list.safeParse(split(value)).success, `needs one or more of ${words.join('+')}`)
    .transform((value) => list.parse(split(value)));
}

/**
 * Reads `NAME=VALUE` terms; a term without a value is `true`.
 *
 * @param what How messages begin, for example `quirk`.
 * @throws {LeadstreamError} `E_USAGE` for a name that is given twice: one of the values would be lost.
 *
 * @example
 * readTerms('quirk', ['cap=100', 'bare-record']); // { cap: '100', 'bare-record': true }
 */
export function readTerms(what: string, terms: readonly string[]): Readonly<Record<string, string | true>> {
  const read = new Map<string, string | true>();
  for (const term of terms) {
    const [name = '', ...value] = term.split('=');
    if (read.has(name)) throw new LeadstreamError('E_USAGE', `${what}: '${name}' is given twice; keep one`);
    read.set(name, value.length === 0 ? true : value.join('='));
  }
  return Object.fromEntries(read);
}

/** Describes an unknown name, with the nearest known one or with all of them. */
export function noSuch(name: string, known: readonly string[], others = ''): string {
  const near = nearest(name, known);
  return `there is no '${name}', ${near === undefined ? `only ${others}${known.join(', ')}` : `did you mean '${near}'?`}`;
}

/**
 * Checks options from code or from the command line.
 *
 * @param what How the message begins, for example `quirk`.
 * @throws {LeadstreamError} `E_USAGE` with the option and what it needs, or with the options that exist.
 */
export function readOptions<S extends z.ZodObject>(what: string, taken: S, given: unknown): z.output<S> {
  const parsed = taken.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    throw new LeadstreamError('E_USAGE', `${what}: ${noSuch(issue.keys[0] ?? '', Object.keys(taken.shape))}`);
  }
  throw new LeadstreamError('E_USAGE', `${what}: ${issue?.path[0] === undefined ? '' : `${String(issue.path[0])} `}${issue?.message}`);
}
