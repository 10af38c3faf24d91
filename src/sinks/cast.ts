import type { Utf8Vector } from '../vector/index.js';
import { parserOf, textOf, type DeclaredType, type Value } from '../core/index.js';

/** Gives the exact value of a column's type; `undefined` when there is none. `null` stays `null`. */
export type Cast = (value: Value) => Value | undefined;

/** The same of a text that still is bytes, for those of the commonest form; `undefined` says nothing of any other. */
export type QuickCast = (texts: Utf8Vector, row: number) => Value | undefined;

const maxInt64 = 2n ** 63n - 1n;

/** What a value has to be when it is no text of the service any more (a step made or cast it). */
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
 * What a value is that no column can hold: rows of a program are not always what their type says. `undefined` for all others.
 *
 * @example
 * strangeness({}); // 'an object'
 */
export function strangeness(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'no finite number';
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid date' : undefined;
  if (value instanceof Promise) return 'a promise';
  return Array.isArray(value) ? 'a list' : 'an object';
}

/** The cast of `types: typed`. Texts are parsed, values that have the type already are checked. */
export function castTyped(type: DeclaredType): Cast {
  const [parse, check] = [parserOf(type), exact[type]];
  return (value) => {
    if (value === null) return null;
    return typeof value === 'string' ? parse(value) : check(value);
  };
}

/**
 * The cast of `types: text`.
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

/** The quick way to `castTyped`, where there is one that pays: numbers of few digits, with nothing before or behind them. */
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

/** So many digits are exact in every type, and no instant of so few is out of bounds. */
const maxDigits = 12;

/** The whole number that a text is when it consists of 1 to 12 digits, or -1. */
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
