import { parserOf } from '../../core/index.js';
import { ExpressionFault } from './fault.js';
import { normalizedZip, placeOf } from './places.js';

/** A value inside an expression: text of the service, or what a cast or another function made of it. */
type Operand = unknown;

/** A function of ours. `returns` is its type in CEL when the result is not `null`. */
export interface ExpressionFunction {
  readonly returns: 'string' | 'double' | 'bool' | 'google.protobuf.Timestamp';
  readonly summary: string;
  readonly example: string;
  readonly call: (operand: Operand) => string | number | boolean | Date | null;
}

/**
 * The functions that expressions have beside CEL's own. All take one value; `null` gives `null` (`blank` gives true).
 * What cannot be read is an error of the row, except in look-ups, where "unknown" is an answer: `null`.
 */
export const functions: Readonly<Record<string, ExpressionFunction>> = {
  zip_city: ofText('City of a US or Canadian zipcode.', "zip_city('10001') == 'New York'", (zip) => placeOf(zip)?.city ?? null),
  zip_state: ofText(
    'Two-letter code of the state or province of a zipcode.',
    "zip_state('K1A 0B1') == 'ON'",
    (zip) => placeOf(zip)?.state ?? null,
  ),
  zip_prefix: ofText(
    'First three characters of a zipcode: the sorting area.',
    "zip_prefix('10001') == '100'",
    (zip) => normalizedZip(zip)?.slice(0, 3) ?? null,
  ),
  area_code: ofText(
    'First three of the ten digits of a phone number, after an optional country code 1.',
    "area_code('1 (212) 555-0142') == '212'",
    areaCodeOf,
  ),
  num: {
    returns: 'double',
    summary: 'The number that a text spells; an empty text gives null.',
    example: "num('41') > 40.0",
    call: (value) =>
      typeof value === 'string' ? parsed('num', 'decimal', value) : typeof value === 'bigint' ? Number(value) : numberOrNull(value),
  },
  flag: {
    returns: 'bool',
    summary: 'Whether a text says yes, as cast reads it: yes, y, true and 1 in any case, or no, n, false and 0; an empty text gives null.',
    example: "flag('Yes') && !flag('0')",
    call: (value) => (typeof value === 'string' ? parsed('flag', 'flag', value) : typeof value === 'boolean' ? value : nullOnly(value)),
  },
  date: {
    returns: 'google.protobuf.Timestamp',
    summary: 'The day of a text YYYYMMDD or of an instant, at midnight UTC.',
    example: "date('20240229') < epoch('1709251200')",
    call: (value) =>
      typeof value === 'string' ? parsed('date', 'date', value) : value instanceof Date ? midnightOf(value) : nullOnly(value),
  },
  epoch: {
    returns: 'google.protobuf.Timestamp',
    summary: 'The instant of a text of seconds since 1970.',
    example: "epoch('0').getFullYear() == 1970",
    call: (value) => (typeof value === 'string' ? parsed('epoch', 'timestamp', value) : value instanceof Date ? value : nullOnly(value)),
  },
  blank: {
    returns: 'bool',
    summary: 'Whether a value is null, empty or nothing but white space.',
    example: "blank(' ')",
    call: (value) => value === null || value === undefined || (typeof value === 'string' && value.trim() === ''),
  },
  lower: ofText('A text in lower case.', "lower('NY') == 'ny'", (text) => text.toLowerCase()),
  upper: ofText('A text in upper case.', "upper('ny') == 'NY'", (text) => text.toUpperCase()),
  trim: ofText('A text without white space around it.', "trim(' ny ') == 'ny'", (text) => text.trim()),
};

function ofText(summary: string, example: string, call: (text: string) => string | null): ExpressionFunction {
  return { returns: 'string', summary, example, call: (value) => (typeof value === 'string' ? call(value) : nullOnly(value)) };
}

function midnightOf(instant: Date): Date {
  return new Date(new Date(instant).setUTCHours(0, 0, 0, 0));
}

function areaCodeOf(phone: string): string | null {
  const digits = phone.replace(/[\s().+-]/g, '');
  return /^1?([2-9]\d{2})\d{7}$/.exec(digits)?.[1] ?? null;
}

function parsed<T extends 'decimal' | 'flag' | 'date' | 'timestamp'>(name: string, type: T, text: string) {
  const value = parserOf(type)(text);
  if (value === undefined) throw new ExpressionFault(`${name}() cannot read the text`);
  return value;
}

function numberOrNull(value: Operand): number | null {
  return typeof value === 'number' ? value : nullOnly(value);
}

function nullOnly(value: Operand): null {
  if (value === null || value === undefined) return null;
  throw new ExpressionFault('the function does not take a value of this type');
}
