import { isInstant, parserOf, timeText, type DeclaredType } from '../../core/index.js';
import { areaCode, zipCity, zipPrefix, zipState } from './geography.js';
import { phoneNumber } from './phone.js';

/** Explains why an expression has no value for a row. The message names kinds of values, never a value. */
export class ExpressionFault extends Error {}

/** `T` is the same type wherever it is. */
type CelType = 'dyn' | 'T' | 'string' | 'int' | 'double' | 'bool' | 'google.protobuf.Timestamp';

/** A function by its CEL types, for values that are not `null`. */
export interface ExpressionFunction {
  /** By argument, the types that it may have. */
  readonly takes: readonly (readonly CelType[])[];
  /** How many arguments are given at least. Default: all. */
  readonly least?: number;
  readonly returns: CelType;
  /** Whether the instant that it returns is a calendar day. */
  readonly day?: true;
  readonly summary: string;
  readonly example: string;
  readonly call: (operand: unknown, start: Start, ...more: readonly unknown[]) => unknown;
}

/** Returns when the run was first started. */
export type Start = () => Date;

/**
 * The functions besides CEL's own. `null` returns `null`, except for `blank` and `coalesce`. A value that cannot be read is an error of the
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
    takes: [['string', 'int', 'double']],
    returns: 'double',
    summary: 'Text read as a number; empty text returns null.',
    example: "num('41') > 40.0",
    call: (value) => {
      if (typeof value === 'string' || typeof value === 'bigint') return parsed('num', 'decimal', String(value));
      return typeof value === 'number' ? value : nullOnly(value);
    },
  },
  flag: {
    takes: [['string', 'bool']],
    returns: 'bool',
    summary:
      'Text read as a flag, as by cast: yes, y, true and 1 are true, no, n, false and 0 are false, in any case; empty text returns null.',
    example: "flag('Yes') && !flag('0')",
    call: (value) => (typeof value === 'string' ? parsed('flag', 'flag', value) : typeof value === 'boolean' ? value : nullOnly(value)),
  },
  date: {
    takes: [['string', 'google.protobuf.Timestamp']],
    returns: 'google.protobuf.Timestamp',
    day: true,
    summary: 'The day of an instant, or of text YYYYMMDD, at midnight UTC.',
    example: "date('20240229') < epoch('1709251200')",
    call: (value) =>
      typeof value === 'string' ? parsed('date', 'date', value) : value instanceof Date ? midnightOf(value) : nullOnly(value),
  },
  epoch: {
    takes: [['string', 'google.protobuf.Timestamp']],
    returns: 'google.protobuf.Timestamp',
    summary: 'Text with seconds since 1970, read as an instant.',
    example: "epoch('0').getFullYear() == 1970",
    call: (value) => (typeof value === 'string' ? parsed('epoch', 'timestamp', value) : value instanceof Date ? value : nullOnly(value)),
  },
  month: {
    summary: 'The month of an instant or a day, in UTC, as text YYYY-MM. A field declared as either is read as such.',
    example: "month(epoch('1709251200')) == '2024-03'",
    ...ofSeveral(['google.protobuf.Timestamp'], 'string', (at: Date) => inRange('month', at).toISOString().slice(0, -17)),
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
    takes: [['int']],
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
    takes: [['dyn']],
    returns: 'bool',
    summary: 'Whether a value is null, empty or only white space.',
    example: "blank(' ')",
    call: isBlank,
  },
  coalesce: {
    takes: new Array<readonly CelType[]>(5).fill(['T']),
    least: 2,
    returns: 'T',
    summary: 'The first of two to five values of one type that is not blank, otherwise the last one.',
    example: "coalesce(' ', 'none') == 'none'",
    call: (first, _, ...more) => [first, ...more].find((value) => !isBlank(value)) ?? more.at(-1),
  },
  lower: ofText('Text in lower case.', "lower('NY') == 'ny'", (text) => text.toLowerCase()),
  upper: ofText('Text in upper case.', "upper('ny') == 'NY'", (text) => text.toUpperCase()),
  trim: ofText('Text without white space around it.', "trim(' ny ') == 'ny'", (text) => text.trim()),
  digits: ofText('The digits 0 to 9 of a text.', "digits('+1 (212) 555-0142') == '12125550142'", (text) => text.replace(/[^0-9]/g, '')),
  replace: {
    summary: 'Text with another text for each occurrence of a part.',
    example: "replace('1,234,567', ',', '') == '1234567'",
    ...ofSeveral(['string', 'string', 'string'], 'string', replaced),
  },
  split: {
    summary: 'The part at a place of a text with separators: 0 is the first, -1 the last; null if there is none.',
    example: "split('Ann B. Lee', ' ', -1) == 'Lee'",
    // An empty separator is between characters, not within one.
    ...ofSeveral(['string', 'string', 'int'], 'string', (text: string, by: string, at: bigint) => {
      return (by === '' ? [...text] : text.split(by)).at(Number(at)) ?? null;
    }),
  },
  substring: {
    summary: 'Characters of a text from a place, 0 for the first, to before another, or to the end. Below 0, places count from the end.',
    example: "substring('K1A 0B1', 0, 3) == 'K1A' && substring('K1A 0B1', -3) == '0B1'",
    least: 2,
    ...ofSeveral(['string', 'int', 'int'], 'string', (text: string, from: bigint, to?: bigint) =>
      [...text].slice(Number(from), to === undefined ? undefined : Number(to)).join(''),
    ),
  },
  round: {
    summary: 'Decimal rounded as it is written, to 0 to 20 places (by default 0); halves go away from zero.',
    example: 'round(1.005, 2) == 1.01 && round(-2.5) == -3.0',
    least: 1,
    ...ofSeveral(['double', 'int'], 'double', rounded),
  },
  format_time: {
    summary: 'Instant in a time zone, by a pattern of yyyy, MM, dd, HH, mm and ss; other letters are between single quotes.',
    example: `format_time(epoch('0'), 'Europe/Berlin', "yyyy-MM-dd'T'HH:mm") == '1970-01-01T01:00'`,
    ...ofSeveral(['google.protobuf.Timestamp', 'string', 'string'], 'string', (instant: Date, zone: string, pattern: string) => {
      // In a zone, it can be the day before or after.
      for (const days of [-1, 1]) inRange('format_time', new Date(instant.getTime() + days * 86_400_000));
      return timeText(instant, zone, pattern);
    }),
  },
  phone: {
    summary: 'Phone number of a country, or with + of any, as E.164; null if it cannot be one. Needs the package libphonenumber-js.',
    example: "phone('(604) 555-0142', 'CA') == '+16045550142'",
    ...ofSeveral(['string', 'string'], 'string', phoneNumber),
  },
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
    takes: [['string']],
    returns: 'string',
    summary,
    example,
    call: (value) => (typeof value === 'string' ? call(value) : nullOnly(value)),
  };
}

/** Makes a function of arguments whose types were checked; `null` for one of them gives `null`. */
function ofSeveral(takes: readonly CelType[], returns: CelType, of: (...values: never[]) => unknown) {
  const call: ExpressionFunction['call'] = (first, _, ...more) => {
    const values = [first, ...more];
    return values.includes(null) ? null : of(...(values as never[]));
  };
  return { takes: takes.map((type) => [type]), returns, call };
}

function isBlank(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
}

/** Without the limit, calls within calls could take all memory. */
function replaced(text: string, part: string, by: string): string {
  const between = part === '' ? [text] : text.split(part);
  if (between.length * by.length > 1_000_000) throw new ExpressionFault('replace() makes a text that is too long');
  return between.join(by);
}

const roundings: Intl.NumberFormat[] = [];

/** Rounds the digits with which a number is written: 1.005 is a little less in binary. */
function rounded(value: number, places = 0n): number {
  if (!Number.isFinite(value)) return value;
  const at = Number(places);
  // Engines differ in how many they take.
  if (at < 0 || at > 20) throw new ExpressionFault('takes 0 to 20 places');
  const format = (roundings[at] ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: at, useGrouping: false }));
  // The sum is never -0.
  return Number(format.format(`${value}`)) + 0;
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
