import { isInstant, parserOf, type DeclaredType } from '../../core/index.js';
import { areaCode, zipCity, zipPrefix, zipState } from './geography.js';

/** Explains why an expression has no value for a row. The message names kinds of values, never a value. */
export class ExpressionFault extends Error {}

/** A function by its CEL types, for values that are not `null`. */
export interface ExpressionFunction {
  /** The types of the argument; empty for a function without arguments. */
  readonly takes: readonly ('dyn' | 'string' | 'int' | 'double' | 'bool' | 'google.protobuf.Timestamp')[];
  readonly returns: 'string' | 'double' | 'bool' | 'google.protobuf.Timestamp';
  /** Whether the instant that it returns is a calendar day. */
  readonly day?: true;
  readonly summary: string;
  readonly example: string;
  readonly call: (operand: unknown, start: Start) => string | number | boolean | Date | null;
}

/** Returns when the run was first started. */
export type Start = () => Date;

/**
 * The functions besides CEL's own. All take at most one value; `null` returns `null` (`blank` returns true). A value that cannot be read is an error of the
 * row, except in look-ups, where "unknown" is an answer: `null`.
 */
export const functions: Readonly<Record<string, ExpressionFunction>> = {
  zip_city: ofText('City of a US or Canadian zipcode.', "zip_city('10001') == 'New York'", zipCity),
  zip_state: ofText('Two-letter code of the state or province of a zipcode.', "zip_state('K1A 0B1') == 'ON'", zipState),
  zip_prefix: ofText('First three characters of a zipcode: the sorting area.', "zip_prefix('10001') == '100'", zipPrefix),
  area_code: ofText(
    'First three of the ten digits of a phone number, after an optional country code 1.',
    "area_code('1 (212) 555-0142') == '212'",
    areaCode,
  ),
  num: {
    takes: ['string', 'int', 'double'],
    returns: 'double',
    summary: 'Text read as a number; empty text returns null.',
    example: "num('41') > 40.0",
    call: (value) => {
      if (typeof value === 'string' || typeof value === 'bigint') return parsed('num', 'decimal', String(value));
      return typeof value === 'number' ? value : nullOnly(value);
    },
  },
  flag: {
    takes: ['string', 'bool'],
    returns: 'bool',
    summary:
      'Text read as a flag, as by cast: yes, y, true and 1 are true, no, n, false and 0 are false, in any case; empty text returns null.',
    example: "flag('Yes') && !flag('0')",
    call: (value) => (typeof value === 'string' ? parsed('flag', 'flag', value) : typeof value === 'boolean' ? value : nullOnly(value)),
  },
  date: {
    takes: ['string', 'google.protobuf.Timestamp'],
    returns: 'google.protobuf.Timestamp',
    day: true,
    summary: 'The day of an instant, or of text YYYYMMDD, at midnight UTC.',
    example: "date('20240229') < epoch('1709251200')",
    call: (value) =>
      typeof value === 'string' ? parsed('date', 'date', value) : value instanceof Date ? midnightOf(value) : nullOnly(value),
  },
  epoch: {
    takes: ['string', 'google.protobuf.Timestamp'],
    returns: 'google.protobuf.Timestamp',
    summary: 'Text with seconds since 1970, read as an instant.',
    example: "epoch('0').getFullYear() == 1970",
    call: (value) => (typeof value === 'string' ? parsed('epoch', 'timestamp', value) : value instanceof Date ? value : nullOnly(value)),
  },
  month: {
    takes: ['google.protobuf.Timestamp'],
    returns: 'string',
    summary: 'The month of an instant or a day, in UTC, as text YYYY-MM. A field declared as either is read as such.',
    example: "month(epoch('1709251200')) == '2024-03'",
    call: (value) => (value instanceof Date ? inRange('month', value).toISOString().slice(0, -17) : nullOnly(value)),
  },
  now: {
    takes: [],
    returns: 'google.protobuf.Timestamp',
    summary: 'The instant at which the run was first started: the same in every row, and after a resume.',
    example: 'now() >= run_date()',
    call: (_, start) => start(),
  },
  run_date: {
    takes: [],
    returns: 'google.protobuf.Timestamp',
    day: true,
    summary: 'The UTC day of now(), as {{ run.date }} in paths.',
    example: 'run_date() == date(now())',
    call: (_, start) => midnightOf(start()),
  },
  days_before: {
    takes: ['int'],
    returns: 'google.protobuf.Timestamp',
    day: true,
    summary: 'The UTC day that many days before run_date(): the last seven full days and today are timestamp >= days_before(7).',
    example: 'days_before(7) < run_date() && days_before(0) == run_date()',
    call: (value, start) =>
      typeof value === 'bigint'
        ? inRange('days_before', new Date(midnightOf(start()).getTime() - Number(value) * 86_400_000))
        : nullOnly(value),
  },
  blank: {
    takes: ['dyn'],
    returns: 'bool',
    summary: 'Whether a value is null, empty or only white space.',
    example: "blank(' ')",
    call: (value) => value === null || value === undefined || (typeof value === 'string' && value.trim() === ''),
  },
  lower: ofText('Text in lower case.', "lower('NY') == 'ny'", (text) => text.toLowerCase()),
  upper: ofText('Text in upper case.', "upper('ny') == 'NY'", (text) => text.toUpperCase()),
  trim: ofText('Text without white space around it.', "trim(' ny ') == 'ny'", (text) => text.trim()),
};

/** The function that reads the text of a column, by its declared type. */
export const readers: Readonly<Record<DeclaredType, string>> = {
  text: 'num',
  integer: 'num',
  decimal: 'num',
  timestamp: 'epoch',
  date: 'date',
  flag: 'flag',
};

function ofText(summary: string, example: string, call: (text: string) => string | null): ExpressionFunction {
  return {
    takes: ['string'],
    returns: 'string',
    summary,
    example,
    call: (value) => (typeof value === 'string' ? call(value) : nullOnly(value)),
  };
}

function midnightOf(instant: Date): Date {
  return new Date(new Date(instant).setUTCHours(0, 0, 0, 0));
}

function inRange(name: string, instant: Date): Date {
  if (!isInstant(instant)) throw new ExpressionFault(`${name}() is outside of the years 1 to 9999`);
  return instant;
}

function parsed<T extends 'decimal' | 'flag' | 'date' | 'timestamp'>(name: string, type: T, text: string) {
  const value = parserOf(type)(text);
  if (value === undefined) throw new ExpressionFault(`${name}() cannot read the text`);
  return value;
}

function nullOnly(value: unknown): null {
  if (value === null || value === undefined) return null;
  throw new ExpressionFault('the function does not take a value of this type');
}
