import { hintAt, nearest, unknownName } from '../core/index.js';
import { given } from './given.js';
import { rangeText, type Range } from './bounds.js';

/** A problem at one place of the value given. */
export interface Fault {
  readonly place: string;
  /** `must be …`, or a separate sentence. */
  readonly message: string;
  readonly value: unknown;
  /** Appended after the value given. */
  readonly hint?: string;
}

/**
 * A requirement on a value given in code. Unlike a schema it needs no library: reading needs no more, and programs should not load the
 * checks of pipeline files with every import.
 */
export interface Check {
  /** Text to follow `must be`. */
  readonly wants: string;
  faults(value: unknown, place: string): readonly Fault[];
}

/** The checks of an object, by key. */
export type Checks = Readonly<Record<string, Check>>;

/** @param wants Text to follow `must be`. */
export function check(wants: string, is: (value: unknown) => boolean, hintOf?: (value: unknown) => string): Check {
  return {
    wants,
    faults: (value, place) => (is(value) ? [] : [{ place, message: `must be ${wants}`, value, ...(hintOf && { hint: hintOf(value) }) }]),
  };
}

/** Checks for a number in a range; `NaN` is invalid. */
export function number(range: Range): Check {
  const { min = -Infinity, max = Number.MAX_VALUE, above = -Infinity, whole = false } = range;
  const is = (value: unknown) =>
    typeof value === 'number' && value >= min && value <= max && value > above && (!whole || Number.isSafeInteger(value));
  return check(`a ${whole ? 'whole ' : ''}number${rangeText(range)}`, is);
}

/** Checks for a number in a range, or Infinity for no limit. */
export function numberOrInfinity(range: Range): Check {
  const within = number(range);
  return check(`${within.wants} or Infinity`, (value) => value === Infinity || within.faults(value, '').length === 0);
}

export const flag = check('true or false', (value) => typeof value === 'boolean');
export const callable = check('a function', (value) => typeof value === 'function');
export const text = check('a text', (value) => typeof value === 'string');
/** Checks for a name or path. */
export const filledText = check('a text that is not empty', (value) => typeof value === 'string' && value !== '');
export const abortSignal = check('an AbortSignal', (value) => value instanceof AbortSignal);
/** Checks for an object with any content. */
export const anyObject = check('an object', (value) => isRecord(value) && !Array.isArray(value));
/** Checks for a list with any content. */
export const anyList = check('a list', Array.isArray);

export function oneOf(values: readonly string[]): Check {
  return check(
    `one of ${values.join(', ')}`,
    (value) => values.some((each) => each === value),
    (value) => hintAt(value, values),
  );
}

/** Checks every item of a list. */
export function listOf(item: Check): Check {
  return {
    wants: anyList.wants,
    faults: (value, place) =>
      Array.isArray(value) ? value.flatMap((each, index) => item.faults(each, `${place}[${index}]`)) : anyList.faults(value, place),
  };
}

/** Checks for a list of texts. @param least Minimum number of items. Default 0. */
export function texts(least: 0 | 1 = 0): Check {
  const list = check(least === 0 ? 'a list' : 'a list that is not empty', (value) => Array.isArray(value) && value.length >= least);
  return {
    wants: list.wants,
    faults: (value, place) => {
      const wrong = list.faults(value, place);
      return wrong.length > 0 || !Array.isArray(value) ? wrong : value.flatMap((item, index) => text.faults(item, `${place}[${index}]`));
    },
  };
}

/** Checks a value with a function that describes the problem, or returns `undefined` if there is none. */
export function judged(problemOf: (value: unknown) => string | undefined): Check {
  return {
    wants: 'something else',
    faults: (value, place) => {
      const message = problemOf(value);
      return message === undefined ? [] : [{ place, message, value }];
    },
  };
}

/**
 * Checks for an object with these keys and no others, each optional.
 *
 * @param required Keys that are not optional.
 * @param others Whether other keys are allowed, in an `open` object. Default `closed`.
 */
export function object(checks: Checks, required: readonly string[] = [], others: 'open' | 'closed' = 'closed'): Check {
  const known = Object.keys(checks);
  const whole = check(`an object with ${known.join(', ')}`, (value) => isRecord(value) && !Array.isArray(value));
  return {
    wants: whole.wants,
    faults: (value, place) => {
      const wrong = whole.faults(value, place);
      if (wrong.length > 0 || !isRecord(value)) return wrong;
      const unknown = others === 'open' ? [] : Object.keys(value).filter((key) => !known.includes(key));
      const misspelled = unknown.map((key) => nearest(key, known));
      const kind = place === '' ? 'option' : `option of ${place}`;
      return [
        ...Object.entries(checks).flatMap(([key, inner]) => {
          const item = value[key];
          if (item === undefined && (!required.includes(key) || misspelled.includes(key))) return [];
          return inner.faults(item, place === '' ? key : `${place}.${key}`);
        }),
        ...unknown.map((key) => ({ place: '', message: unknownName(kind, key, known), value: key })),
      ];
    },
  };
}

/**
 * Describes the problems of options given in code, a sentence each: the option's name, what is expected, and what was given.
 *
 * @param withheld Options whose values must not appear in messages.
 *
 * @example
 * faultsIn(object({ limit: number({ whole: true, min: 1, max: 500 }) }), { limit: '5' });
 * // ["limit must be a whole number from 1 to 500, not the text '5'"]
 */
export function faultsIn(wanted: Check, options: unknown, withheld: readonly string[] = []): readonly string[] {
  return wanted.faults(options, '').map(({ place, message, value, hint = '' }) => {
    const asks = message.startsWith('must ');
    if (place === '' && !asks) return message;
    if (place !== '' && value === undefined) return `${place} is missing: ${asks ? `it ${message}` : message}`;
    if (!asks) return `${place}: ${message}`;
    const but = withheld.some((name) => place === name || place.startsWith(`${name}[`)) ? '' : `, not ${given(value)}`;
    return `${place === '' ? 'the argument' : place} ${message}${but}${hint}`;
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
