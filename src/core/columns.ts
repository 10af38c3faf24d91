/** The declared types of fields. A cast of the service's texts is exact or refused: nothing is trimmed or guessed; only fractions round. */
export type DeclaredType = 'text' | 'flag' | 'integer' | 'decimal' | 'timestamp' | 'date';

/** A cast value: `integer` is a bigint (64 bits), `timestamp` an instant, `date` midnight UTC of a calendar day. */
export type Value = string | boolean | bigint | number | Date | null;

export interface ValueOf {
  text: string;
  flag: boolean;
  integer: bigint;
  decimal: number;
  timestamp: Date;
  date: Date;
}

export const declaredTypes = ['text', 'flag', 'integer', 'decimal', 'timestamp', 'date'] as const satisfies readonly DeclaredType[];

export const expectations: Readonly<Record<DeclaredType, string>> = {
  text: 'valid Unicode text',
  flag: 'yes/no, y/n, true/false or 1/0',
  integer: 'a 64-bit integer',
  decimal: 'a number that a decimal can hold',
  timestamp: 'seconds since 1970',
  date: 'a calendar day as YYYYMMDD',
};

const flags: ReadonlyMap<string, boolean> = new Map(
  (['yes', 'y', 'true', '1', 'no', 'n', 'false', '0'] as const).map((word, index) => [word, index < 4]),
);
const integerPattern = /^[+-]?\d{1,19}$/;
const decimalPattern = /^[+-]?(?=\.?\d)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;
const secondsPattern = /^-?\d+$/;
const dayPattern = /^(\d{4})(\d{2})(\d{2})$/;
const [firstInstant, lastInstant] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

const parsers: { readonly [T in DeclaredType]: (text: string) => ValueOf[T] | undefined } = {
  text: (text) => (text.isWellFormed() ? text : undefined),
  flag: (text) => flags.get(text) ?? flags.get(text.toLowerCase()),
  integer: (text) => {
    return integerPattern.test(text) ? exact.integer(BigInt(text.startsWith('+') ? text.slice(1) : text)) : undefined;
  },
  decimal: (text) => {
    const match = decimalPattern.exec(text);
    const value = Number(text);
    return match && Number.isFinite(value) && isHeld(match, value) ? value : undefined;
  },
  timestamp: (text) => (secondsPattern.test(text) ? exact.timestamp(new Date(Number(text) * 1000)) : undefined),
  date: (text) => {
    const match = dayPattern.exec(text);
    if (!match) return undefined;
    const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? exact.date(date) : undefined;
  },
};

/** Fractions round to the nearest number, but never to 0. Whole numbers are exact; with an exponent, they are read as JavaScript does. */
function isHeld(match: RegExpExecArray, value: number): boolean {
  if (value === 0) return !/[1-9]/.test(`${match[1]}${match[2]}`);
  if (Number.isSafeInteger(Math.trunc(value))) return true;
  const whole = wholeIn(match);
  if (whole === undefined || exact.decimal(whole) === Math.abs(value)) return true;
  return match[3] !== undefined && whole === wholeIn(decimalPattern.exec(String(value)) ?? []);
}

/** Returns the unsigned whole number of a match of `decimalPattern`; `undefined` for a fraction. */
function wholeIn([, whole = '', fraction = '', exponent = '0']: readonly string[]): bigint | undefined {
  const [digits, shift] = [BigInt(whole + fraction), Number(exponent) - fraction.length];
  const [numerator, denominator] = shift < 0 ? [digits, 10n ** BigInt(-shift)] : [digits * 10n ** BigInt(shift), 1n];
  return numerator % denominator === 0n ? numerator / denominator : undefined;
}

/** Returns a value that is not a text as a type; `undefined` if the type cannot hold exactly this value. */
export const exact: { readonly [T in Exclude<DeclaredType, 'text'>]: (value: unknown) => ValueOf[T] | undefined } = {
  flag: (value) => (typeof value === 'boolean' ? value : undefined),
  integer: (value) => {
    const whole = Number.isSafeInteger(value) ? BigInt(Number(value)) : value;
    return typeof whole === 'bigint' && BigInt.asIntN(64, whole) === whole ? whole : undefined;
  },
  decimal: (value) => {
    const number = typeof value === 'bigint' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) return undefined;
    return typeof value !== 'bigint' || BigInt(number) === value ? number : undefined;
  },
  timestamp: (value) => (isInstant(value) ? value : undefined),
  date: (value) => (isInstant(value) ? value : undefined),
};

/** Returns whether a value is an instant of the years 1 to 9999, which all readers of Parquet, SQL and ISO 8601 understand. */
export function isInstant(value: unknown): value is Date {
  return value instanceof Date && value.getTime() >= firstInstant && value.getTime() <= lastInstant;
}

export function misfit(type: DeclaredType): string {
  return `is not ${expectations[type]}`;
}

/** Returns the parser of a type: `undefined` for a text that does not cast, `null` for an empty text unless the type is `text`. */
export function parserOf<T extends DeclaredType>(type: T): (text: string) => ValueOf[T] | null | undefined {
  const parse = parsers[type];
  return type === 'text' ? parse : (text) => (text === '' ? null : parse(text));
}

/** Converts a value to text for untyped formats: flags are `true` and `false`, instants ISO 8601 in UTC, days `YYYY-MM-DD`. */
export function textOf(value: Value, type: DeclaredType): string | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof Date) return type === 'date' ? value.toISOString().slice(0, -14) : value.toISOString();
  return String(value);
}

export const msPerDay = 86_400_000;
const maxDays = 4096;

/** Creates a `textOf` for instants that caches the texts of days. */
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

/** A row at any point of a chain, with columns in snake_case. A missing column counts as `null`. */
export type Row = Readonly<Record<string, Value>>;

/** What is known about a column at a point of a chain. */
export interface Column {
  /** Name in rows, expressions and Parquet (snake_case). */
  readonly name: string;
  /** The service's own name, used under `naming: original`. */
  readonly original: string;
  readonly type: DeclaredType;
  /** Whether the values have their declared type; otherwise they are text. */
  readonly cast: boolean;
  readonly sensitivity: Sensitivity;
  /** The collection's column that the values come from; `undefined` if they are computed, masked or joined. */
  readonly source?: string | undefined;
  /** Where the values come from, for engineers: `IPAddress of leads`, or the expression that computes them. Default: not known. */
  readonly origin?: string | undefined;
  /** What the values mean, as a user declared. */
  readonly description?: string | undefined;
  /** Whether an earlier step may have repeated rows. Default false. */
  readonly repeated?: boolean | undefined;
  /** Whether the service sent the field undeclared. Default false. */
  readonly undeclared?: boolean | undefined;
}

/** Who may see a field: `secret` is withheld unless named in `reveal`, `personal` is masked in previews. Only `plain` is in errors. */
export type Sensitivity = (typeof sensitivities)[number];

export const sensitivities = ['plain', 'personal', 'secret'] as const;

export function markRepeated(columns: readonly Column[]): readonly Column[] {
  return columns.map((column) => ({ ...column, repeated: true }));
}

/** Returns whether a column has the values of a column of the collection, with each row once. */
export function isOnceOf(source: string, column: Column): boolean {
  return column.source === source && column.repeated !== true;
}

/** Returns the column of an undeclared field: text. @param sensitivity Default: it may be about a person. */
export function undeclaredColumn(name: string, original = name, sensitivity: Sensitivity = 'personal'): Column {
  return { name, original, type: 'text', cast: false, sensitivity, origin: `the undeclared ${original}`, undeclared: true };
}

export function strictest(columns: readonly Column[]): Sensitivity {
  const used = columns.map(({ sensitivity }) => sensitivity);
  if (used.includes('secret')) return 'secret';
  return used.includes('personal') ? 'personal' : 'plain';
}

/** A column as a sink writes it. */
export interface OutputColumn {
  readonly name: string;
  readonly field: string;
  readonly original: string;
  /** Always `text` under `types: text`. */
  readonly type: DeclaredType;
  /** A sentence for engineers: where the values come from, their declared type and sensitivity. */
  readonly comment?: string | undefined;
}

export interface OutputOptions {
  readonly types: 'typed' | 'text';
  readonly naming: 'original' | 'snake_case';
}

export function outputColumn(column: Column, { naming, types }: OutputOptions): OutputColumn {
  const { name, original, type, sensitivity, origin = 'computed', description } = column;
  // Readers of Delta and Iceberg refuse half a surrogate pair, which names from outside may have.
  const comment = `${origin}; ${type}, ${sensitivity}.${description === undefined ? '' : ` ${description}`}`.toWellFormed();
  return { name: naming === 'original' ? original : name, field: name, original, type: types === 'text' ? 'text' : type, comment };
}

/** Returns why a format cannot hold a value of a column (`is …`, `has …`, without the value), or `undefined`. Called once per column. */
export type Refuses = (column: OutputColumn) => ((value: Value) => string | undefined) | undefined;
