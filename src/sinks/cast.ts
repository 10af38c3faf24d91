import type { Utf8Vector } from '../vector/index.js';
import { parserOf, textOf, type DeclaredType, type Value } from '../core/index.js';

/** Returns the exact value for a column's type; `undefined` if there is none. `null` stays `null`. */
export type Cast = (value: Value) => Value | undefined;

/** Casts a text that is still bytes, if it has the most common form. `undefined` means that the full cast must decide. */
export type QuickCast = (texts: Utf8Vector, row: number) => Value | undefined;

const maxInt64 = 2n ** 63n - 1n;

/** Casts for values that are no longer texts of the service, because a step created or cast them. */
const exact: { readonly [T in DeclaredType]: Cast } = {
  text: (value) => (strangeness(value) === undefined ? textOf(value, 'text') : undefined),
  flag: (value) => (typeof value === 'boolean' ? value : undefined),
  integer: (value) => {
    if (typeof value === 'string') return undefined;
    if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
    return typeof value === 'bigint' && value >= -maxInt64 - 1n && value <= maxInt64 ? value : undefined;
  },
  decimal: (value) => {
    if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  },
  timestamp: instant,
  date: instant,
};

/**
 * Describes a value that no column can hold, since rows of a program do not always match their type; `undefined` for all other values.
 *
 * @example
 * strangeness({}); // 'an object'
 */
export function strangeness(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a non-finite number';
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid date' : undefined;
  if (value instanceof Promise) return 'a promise';
  return Array.isArray(value) ? 'a list' : 'an object';
}

/** Returns the cast of `types: typed`. Texts are parsed; values that already have the type are checked. */
export function castTyped(type: DeclaredType): Cast {
  const [parse, check] = [parserOf(type), exact[type]];
  return (value) => {
    if (value === null) return null;
    return typeof value === 'string' ? parse(value) : check(value);
  };
}

/**
 * Returns the cast of `types: text`.
 *
 * @param surrogates Whether the format can write a lone surrogate (JSON escapes it); others would alter it.
 */
export function castText(type: DeclaredType, surrogates: boolean): Cast {
  return (value) => {
    if (strangeness(value) !== undefined) return undefined;
    const text = textOf(value, type);
    return text === null || surrogates || text.isWellFormed() ? text : undefined;
  };
}

/** Returns a faster `castTyped` for types where it pays off: for numbers of few digits, with nothing before or after them. */
export function quickCast(type: DeclaredType): QuickCast | undefined {
  return quickCasts[type];
}

const quickCasts: { readonly [T in DeclaredType]?: QuickCast } = {
  integer: (texts, row) => {
    const whole = digitsIn(texts, row);
    return whole < 0 ? undefined : BigInt(whole);
  },
  decimal: (texts, row) => {
    const whole = digitsIn(texts, row);
    return whole < 0 ? undefined : whole;
  },
  timestamp: (texts, row) => {
    const seconds = digitsIn(texts, row);
    return seconds < 0 ? undefined : new Date(seconds * 1000);
  },
};

/** Numbers with up to this many digits are exact in every type, and never out of range as a timestamp. */
const maxDigits = 12;

/** Returns the whole number in a text of 1 to 12 digits, or -1. */
function digitsIn(texts: Utf8Vector, row: number): number {
  const { bytes } = texts;
  const start = texts.start(row);
  const end = texts.end(row);
  if (end === start || end - start > maxDigits) return -1;
  let whole = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    whole = 10 * whole + digit;
  }
  return whole;
}

function instant(value: Value): Value | undefined {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value : undefined;
}
