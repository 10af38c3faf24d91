/**
 * The declared types of the fields.
 *
 * Every value of the service is a string. A cast is exact or refused; nothing is trimmed, rounded or guessed.
 */
export type DeclaredType = 'text' | 'flag' | 'integer' | 'decimal' | 'timestamp' | 'date';

/** A cast value: `integer` is a bigint (64 bits), `timestamp` an instant, `date` midnight UTC of a calendar day. */
export type Value = string | boolean | bigint | number | Date | null;

/** The JavaScript type of each declared type after a cast. */
export interface ValueOf {
  text: string;
  flag: boolean;
  integer: bigint;
  decimal: number;
  timestamp: Date;
  date: Date;
}

export const declaredTypes = ['text', 'flag', 'integer', 'decimal', 'timestamp', 'date'] as const satisfies readonly DeclaredType[];

/** The required form of a text, for messages. */
export const expectations: Readonly<Record<DeclaredType, string>> = {
  text: 'valid Unicode text',
  flag: 'yes/no, y/n, true/false or 1/0',
  integer: 'a 64-bit integer',
  decimal: 'a number',
  timestamp: 'seconds since 1970',
  date: 'a calendar day as YYYYMMDD',
};

const flags: ReadonlyMap<string, boolean> = new Map(
  (['yes', 'y', 'true', '1', 'no', 'n', 'false', '0'] as const).map((word, index) => [word, index < 4]),
);
const integerPattern = /^[+-]?\d{1,19}$/;
const decimalPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const secondsPattern = /^-?\d{1,13}$/;
const dayPattern = /^(\d{4})(\d{2})(\d{2})$/;
const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);
/** The last second that both a JavaScript date and Parquet microseconds can hold. */
const maxSeconds = 8_640_000_000_000;

const parsers: { readonly [T in DeclaredType]: (text: string) => ValueOf[T] | undefined } = {
  text: (text) => (text.isWellFormed() ? text : undefined),
  flag: (text) => flags.get(text) ?? flags.get(text.toLowerCase()),
  integer: (text) => {
    if (!integerPattern.test(text)) return undefined;
    const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
    return value >= minInt64 && value <= maxInt64 ? value : undefined;
  },
  decimal: (text) => {
    if (!decimalPattern.test(text)) return undefined;
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  },
  timestamp: (text) => {
    if (!secondsPattern.test(text)) return undefined;
    const seconds = Number(text);
    return Math.abs(seconds) <= maxSeconds ? new Date(seconds * 1000) : undefined;
  },
  date: (text) => {
    const match = dayPattern.exec(text);
    if (!match) return undefined;
    const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date : undefined;
  },
};

/**
 * Returns the cast of a declared type, for use over a whole column.
 *
 * @returns A function from a text to its value; `undefined` means that the text does not cast. An empty text is
 * `null` for every type but `text`.
 *
 * @example
 * parserOf('flag')('Yes'); // true
 * parserOf('integer')(''); // null
 * parserOf('date')('20240230'); // undefined
 */
export function parserOf<T extends DeclaredType>(type: T): (text: string) => ValueOf[T] | null | undefined {
  const parse = parsers[type];
  return type === 'text' ? parse : (text) => (text === '' ? null : parse(text));
}

/** Converts a value to text for formats without types: flags become `true` and `false`, instants ISO 8601 in UTC, days `YYYY-MM-DD`. */
export function textOf(value: Value, type: DeclaredType): string | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof Date) return type === 'date' ? value.toISOString().slice(0, -14) : value.toISOString();
  return String(value);
}

const msPerDay = 86_400_000;
/** Number of cached days, about eleven years. */
const maxDays = 4096;

/** Creates a `textOf` for instants that mostly share days: it caches the text of the day, which is the slow part. */
export function instantTexts(): (date: Date, type: DeclaredType) => string {
  const days = new Map<number, string>();

  function textOfDay(day: number): string {
    const known = days.get(day);
    if (known !== undefined) return known;
    if (days.size >= maxDays) days.clear();
    const text = textOf(new Date(day * msPerDay), 'date') ?? '';
    days.set(day, text);
    return text;
  }

  return (date, type) => {
    const time = date.getTime();
    const day = Math.floor(time / msPerDay);
    if (type === 'date') return textOfDay(day);
    const ms = time - day * msPerDay;
    const seconds = Math.floor(ms / 1000);
    const [hour, minute] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return `${textOfDay(day)}T${sixty[hour]}:${sixty[minute]}:${sixty[seconds % 60]}.${String(ms % 1000).padStart(3, '0')}Z`;
  };
}

const sixty = Array.from({ length: 60 }, (_, count) => String(count).padStart(2, '0'));
