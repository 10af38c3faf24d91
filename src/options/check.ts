import { isMap, LeadstreamError, StepError, unknownName } from '../core/index.js';
import { rangeText, type NumberRange } from './settings.js';

/** Returns the problems of a value given in code, each a sentence that begins with its place and shows no value. Needs no zod. */
export type Check = (value: unknown, place: string) => readonly string[];

export type Checks = Readonly<Record<string, Check>>;

/** @param wants Text to follow `must be`. */
export function check(wants: string, is: (value: unknown) => boolean): Check {
  return (value, place) =>
    is(value) ? [] : [value === undefined ? `${place} is missing: it must be ${wants}` : `${place} must be ${wants}`];
}

export function number(range: NumberRange): Check {
  return check(`a ${range.whole ? 'whole ' : ''}number${rangeText(range)}`, (value) => isWithin(value, range));
}

export function numberOrInfinity(range: NumberRange): Check {
  return check(`a number${rangeText(range)} or Infinity`, (value) => value === Infinity || isWithin(value, range));
}

function isWithin(value: unknown, { min = -Infinity, max = Number.MAX_VALUE, above = -Infinity, whole = false }: NumberRange): boolean {
  return typeof value === 'number' && value >= min && value <= max && value > above && (!whole || Number.isSafeInteger(value));
}

export const boolean = check('true or false', (value) => typeof value === 'boolean');
export const callable = check('a function', (value) => typeof value === 'function');
export const anyText = check('a text', (value) => typeof value === 'string');
export const filledText = check('a text that is not empty', (value) => typeof value === 'string' && value !== '');
export const abortSignal = check('an AbortSignal', (value) => value instanceof AbortSignal);
export const anyObject = check('an object', isMap);

export function oneOf(values: readonly string[]): Check {
  return check(`one of ${values.join(', ')}`, (value) => values.some((each) => each === value));
}

export function listOf(item: Check, least: 0 | 1 = 0): Check {
  const list = check(least === 0 ? 'a list' : 'a list that is not empty', (value) => Array.isArray(value) && value.length >= least);
  return (value, place) => {
    const wrong = list(value, place);
    return wrong.length > 0 || !Array.isArray(value) ? wrong : value.flatMap((each, index) => item(each, `${place}[${index}]`));
  };
}

export function texts(least: 0 | 1 = 0): Check {
  return listOf(anyText, least);
}

export function judged(problemOf: (value: unknown) => string | undefined): Check {
  return (value, place) => {
    const problem = problemOf(value);
    return problem === undefined ? [] : [`${place}${problem.startsWith('must ') ? '' : ':'} ${problem}`];
  };
}

/** Checks an object with these keys, of which only the `required` ones must be there; an `open` object may have others. */
export function object(checks: Checks, required: readonly string[] = [], others: 'open' | 'closed' = 'closed'): Check {
  const known = Object.keys(checks);
  const whole = check(`an object with ${known.join(', ')}`, isMap);
  return (value, place) => {
    if (!isMap(value)) return whole(value, place === '' ? 'the argument' : place);
    const unknown = others === 'open' ? [] : Object.keys(value).filter((key) => !known.includes(key));
    return [
      ...Object.entries(checks).flatMap(([key, inner]) =>
        value[key] === undefined && !required.includes(key) ? [] : inner(value[key], place === '' ? key : `${place}.${key}`),
      ),
      ...unknown.map((key) => unknownName(place === '' ? 'option' : `option of ${place}`, key, known)),
    ];
  };
}

/** Checks the arguments of a function that creates a step or changes a stream. @throws {StepError} `E_STEP_CONFIG`. */
export function checkGiven(at: string, wanted: Check, given: unknown): void {
  const problems = wanted(given, '');
  if (problems.length > 0) throw new StepError('E_STEP_CONFIG', `${at}: ${problems.join('; ')}`);
}

/** Checks the arguments of any other function. @throws {LeadstreamError} `E_USAGE`. */
export function checkUsage(at: string, wanted: Check, given: unknown): void {
  const problems = wanted(given, '');
  if (problems.length > 0) throw new LeadstreamError('E_USAGE', `${at}: ${problems.join('; ')}`);
}

/** Describes the kind of a value for messages, without the value, which may be personal. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (value instanceof Date) return 'a Date';
  if (value instanceof Promise) return 'a promise, which must be awaited';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'an object';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}
