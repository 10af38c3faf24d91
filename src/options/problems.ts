import type { z } from 'zod';
import { getIn, issuesOf, keysOf, wantedAt, wrongKey, type Issue, type Wanted } from './issues.js';
import { hintAt, schema, zod } from '../core/index.js';
import { given } from './given.js';

/** Checks for a caller's function. */
export const callback = schema((z) => z.custom<unknown>((value) => typeof value === 'function', 'must be a function'));

/** Checks a value with a function that describes the problem, or returns `undefined` if there is none. */
export function judgedBy(problemOf: (value: unknown) => string | undefined): z.ZodType {
  return zod()
    .unknown()
    .superRefine((value, context) => {
      const message = problemOf(value);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    });
}

/**
 * Describes the problems of options given in code, a sentence each: the option's name, what is expected, and what was given.
 *
 * @param withheld Options whose values must not appear in messages.
 *
 * @example
 * optionProblems(z.strictObject({ limit: z.number().int().min(1).max(500) }), { limit: '5' });
 * // ["limit must be a whole number from 1 to 500, not the text '5'"]
 */
export function optionProblems(wanted: z.ZodType, options: unknown, withheld: readonly string[] = []): readonly string[] {
  return issuesOf(wanted, options).flatMap((issue) => sentencesOf(issue, { wanted, options, withheld }));
}

interface Checked {
  readonly wanted: z.ZodType;
  readonly options: unknown;
  readonly withheld: readonly string[];
}

function sentencesOf(issue: Issue, { wanted: whole, options, withheld }: Checked): readonly string[] {
  const place = placeOf(issue.path);
  const wanted = wantedAt(whole, issue.path);
  if (issue.code === 'unrecognized_keys') {
    const kind = place === '' ? 'option' : `option of ${place}`;
    return issue.keys.map((key) => wrongKey(key, issue, kind, keysOf(wanted)));
  }
  const value = getIn(options, issue.path);
  const ask = askOf(issue, wanted);
  if (value === undefined && place !== '') return [`${place} is missing: ${ask.startsWith('must ') ? `it ${ask}` : ask}`];
  if (!ask.startsWith('must ')) return [`${place}: ${ask}`];
  const but = withheld.includes(String(issue.path[0])) ? '' : `, not ${given(value)}`;
  const hint = issue.code === 'invalid_value' ? hintAt(value, issue.values.map(String)) : '';
  return [`${place === '' ? 'the argument' : place} ${ask}${but}${hint}`];
}

/** Returns the requirement on a value: `must be …`, or its schema's own message. */
function askOf(issue: Issue, wanted: readonly Wanted[]): string {
  if (issue.code === 'custom' || issue.code === 'invalid_format') return issue.message;
  const phrases = new Set(wanted.map(phraseOf));
  return `must be ${phrases.size === 0 ? 'something else' : [...phrases].join(' or ')}`;
}

function phraseOf(wanted: Wanted): string {
  const { enum: values, type } = wanted;
  if (Array.isArray(values)) return `one of ${values.map(String).join(', ')}`;
  if ('const' in wanted) return String(wanted.description ?? wanted.const);
  if (type === 'integer') return `a whole number${rangeOf(wanted)}`;
  if (type === 'number') return `a number${rangeOf(wanted)}`;
  if (type === 'string') return 'minLength' in wanted ? 'a text that is not empty' : 'a text';
  if (type === 'boolean') return 'true or false';
  if (type === 'array') return 'minItems' in wanted ? 'a list that is not empty' : 'a list';
  return type === 'object' ? `an object with ${keysOf([wanted]).join(', ')}` : 'something else';
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: Wanted): string {
  if (typeof exclusiveMinimum === 'number') return ` above ${exclusiveMinimum}`;
  if (typeof minimum !== 'number') return '';
  return typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? ` from ${minimum} to ${maximum}` : ` of at least ${minimum}`;
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`)).join('');
}
