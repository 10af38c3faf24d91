import { parserOf, textOf, type DeclaredType, type Value } from '../collections/index.js';

/** Gives the exact value of a column's type; `undefined` when there is none. `null` stays `null`. */
export type Cast = (value: Value) => Value | undefined;

const maxInt64 = 2n ** 63n - 1n;

/** What a value has to be when it is no text of the service any more (a step made or cast it). */
const exact: { readonly [T in DeclaredType]: Cast } = {
  text: (value) => textOf(value, 'text'),
  flag: (value) => (typeof value === 'boolean' ? value : undefined),
  integer: (value) => {
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
    const text = textOf(value, type);
    return text === null || surrogates || text.isWellFormed() ? text : undefined;
  };
}

function instant(value: Value): Value | undefined {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value : undefined;
}
