import type { z } from 'zod';
import { LeadstreamError, schema, zod } from '../core/index.js';

/** A whole number from `min` on; also as text, as the command line gives it. */
export function whole(min: number) {
  return zod()
    .custom<number>((value) => /^\d+$/.test(String(value)) && Number(value) >= min, `needs a whole number from ${min} on`)
    .transform(Number);
}

/** A share from 0 to 1; also as text. */
export const share = schema((z) =>
  z
    .custom<number>((value) => /^\d*\.?\d+(e-\d+)?$/.test(String(value)) && Number(value) <= 1, 'needs a share from 0 to 1')
    .transform(Number),
);

/** One of these words. */
export function oneOf<T extends string>(words: readonly T[]) {
  return zod().enum<T[]>([...words], `needs one of ${words.join(', ')}`);
}

/** One or more of these words; as text with a + between them. */
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
 * @example
 * readTerms(['cap=100', 'bare-record']); // { cap: '100', 'bare-record': true }
 */
export function readTerms(terms: readonly string[]): Readonly<Record<string, string | true>> {
  return Object.fromEntries(
    terms.map((term) => {
      const [name = '', ...value] = term.split('=');
      return [name, value.length === 0 ? true : value.join('=')];
    }),
  );
}

/**
 * Checks options that stand in code or on the command line.
 *
 * @param what How the message begins, for example `quirk`.
 * @throws {LeadstreamError} `E_USAGE` that names the option, what it needs, or which ones there are.
 */
export function readOptions<S extends z.ZodObject>(what: string, taken: S, given: unknown): z.output<S> {
  const parsed = taken.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    throw new LeadstreamError('E_USAGE', `${what}: there is no '${issue.keys[0]}', only ${Object.keys(taken.shape).join(', ')}`);
  }
  throw new LeadstreamError('E_USAGE', `${what}: ${issue?.path[0] === undefined ? '' : `${String(issue.path[0])} `}${issue?.message}`);
}
