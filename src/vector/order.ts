import type { DeclaredType, Value } from '../core/index.js';

/** Returns less than 0 if the first value comes before the second, more than 0 if it comes after. */
export type Compare = (one: Value, other: Value) => number;

/** Returns the order of a type's values in which Parquet stores and searches them; `null` comes last in both directions. */
export function comparing(type: DeclaredType, descending = false): Compare {
  const compare = compares[type];
  return (one, other) => {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return descending ? compare(other, one) : compare(one, other);
  };
}

const msPerDay = 86_400_000;

/** Returns the days since 1970 of an instant, rounded down, as in Parquet's DATE. */
export function daysOf(date: Date): number {
  return Math.floor(date.getTime() / msPerDay);
}

const byValue: Compare = (one, other) => {
  if (one === null || other === null) return 0;
  return one < other ? -1 : one > other ? 1 : 0;
};

const compares: Readonly<Record<DeclaredType, Compare>> = {
  text: (one, other) => (typeof one === 'string' && typeof other === 'string' ? compareTexts(one, other) : 0),
  flag: byValue,
  integer: byValue,
  decimal: byValue,
  timestamp: byValue,
  // Two times of one day are the same date, so the next key decides.
  date: (one, other) => (one instanceof Date && other instanceof Date ? daysOf(one) - daysOf(other) : 0),
};

/** Compares well-formed texts by their UTF-8 bytes, that is by code points: surrogates come after all of the BMP. */
export function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

/** Moves surrogates after all other units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
