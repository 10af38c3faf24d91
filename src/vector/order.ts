import type { DeclaredType, Value } from '../core/index.js';

/** Less than 0 when the one comes before the other, more when it comes behind. */
export type Compare = (one: Value, other: Value) => number;

/** The order of the values of a type, in which Parquet stores and searches them; `null` comes last, both ways. */
export function comparing(type: DeclaredType, descending = false): Compare {
  const compare = compares[type];
  return (one, other) => {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return descending ? compare(other, one) : compare(one, other);
  };
}

const msPerDay = 86_400_000;

/** Days since 1970 of an instant, rounded down: what Parquet's DATE holds. */
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

/** Compares well-formed texts by their UTF-8 bytes, which is by code points: surrogates come after all of the BMP. */
export function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

/** Moves surrogates behind the last units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
