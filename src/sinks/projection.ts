import { SinkError, exact, expectations, isInstant, misfit, outputColumn, parserOf, textOf } from '../core/index.js';
import type { Column, DeclaredType, OutputColumn, OutputOptions, Refuses, Value } from '../core/index.js';
import { batchOf, failureAt, type Fault, type OnError, type Page, type RowPlace } from '../flow/index.js';
import { Batch, mapping, Unfit, type Vector, type Utf8Vector } from '../vector/index.js';
import { addedColumns, type AddingOptions } from '../lake/index.js';
import type { SinkContext } from './sink.js';

export interface ProjectionOptions extends OutputOptions, AddingOptions {
  readonly columns?: readonly string[] | undefined;
  readonly on_error?: OnError | undefined;
  readonly refuses?: Refuses | undefined;
  /** Why a format refuses NUL characters in names and texts. */
  readonly nul?: string | undefined;
  /** Fields without which a row is rejected, regardless of `on_error`. */
  readonly required?: readonly string[] | undefined;
  /** Whether the format has numbers and escapes lone surrogates, so that `types: text` keeps both. */
  readonly json?: boolean;
  /** Whether names that differ only in case are equal, as in SQL. */
  readonly caseless?: boolean;
}

/** Fixes a sink's columns. @throws {SinkError} `E_SINK_VALUE` without columns or for equal names, `E_SINK_FIELD` for unwritable ones. */
export function project(columns: readonly Column[], options: ProjectionOptions, context: SinkContext) {
  const wanted = options.columns?.map((name) => {
    const column = columns.find((candidate) => candidate.name === name);
    if (!column) throw new SinkError('E_SINK_VALUE', `${context.at}: there is no column ${name} to write`);
    return column;
  });
  const chosen = wanted ?? columns;
  const outputs = chosen.map((column) => outputColumn(column, options));
  refuseNames(outputs, options, context);
  const casts = chosen.map((column) => ({ field: column.name, cast: castOf(column, options, context) }));
  return {
    columns: outputs,
    /** Casts rows by column. A rejected row is reported once, with its first field. Only rejects become row objects. */
    take(page: Page): Batch {
      const batch = batchOf(page);
      const faults = new Map<number, Fault>();
      const failure = (index: number, fault: Fault) => unfitAt({ at: context.at, page: page.number, index, row: batch.row(index) }, fault);
      const columns = casts.map(({ field, cast }) => cast(batch.columnOrNulls(field), faults, failure));
      const cast = new Batch(batch.length, columns);
      if (faults.size === 0) return cast;
      const left: number[] = [];
      for (let row = 0; row < batch.length; row += 1) {
        const fault = faults.get(row);
        if (fault) context.reject(batch.row(row), { ...fault, page: page.number, index: row });
        else left.push(row);
      }
      return cast.keep(left);
    },
  };
}

/** Casts a page's values. Under `on_error: reject`, rows without a fault get one; `failure` is for `on_error: fail`. */
type ColumnCast = (given: Vector, faults: Map<number, Fault>, failure: (row: number, fault: Fault) => SinkError) => Vector;

/** Returns the cast of a column, which caches results for texts and dictionaries across pages (see `mapping`). */
function castOf(column: Column, options: ProjectionOptions, context: SinkContext): ColumnCast {
  const { name: field } = column;
  const { types, json = false, nul, on_error = context.onError } = options;
  const output = outputColumn(column, options);
  const refuses = options.refuses?.(output);
  const required = options.required?.includes(field) === true;
  const onError = required && on_error === 'null' ? 'reject' : on_error;
  const cast = types === 'typed' ? castTyped(column.type) : castText(column.type, json);

  const reasonAgainst = (value: Value | undefined, given: Value): string | undefined => {
    if (value === undefined) return whyNot(given, output.type);
    if (required && (value === null || value === '')) return 'is empty, but identifies the row';
    if (nul !== undefined && typeof value === 'string' && value.includes('\0')) return nul;
    return value === null ? undefined : refuses?.(value);
  };
  const mapped = mapping(
    (given) => {
      const value = cast(given);
      const reason = reasonAgainst(value, given);
      return reason === undefined ? (value ?? null) : new Unfit(reason);
    },
    {
      quick: refuses === undefined ? quickCasts[output.type] : undefined,
      keepsBytes: output.type === 'text' && !required && refuses === undefined,
    },
  );

  return (given, faults, failure) => {
    const { vector, unfit } = mapped(given);
    for (let row = 0; unfit && row < given.length; row += 1) {
      const reason = unfit(row);
      if (reason === undefined) continue;
      if (onError === 'fail') throw failure(row, { field, reason });
      if (onError === 'null') context.nulled(field);
      else if (!faults.has(row)) faults.set(row, { field, reason });
    }
    return vector;
  };
}

function whyNot(given: Value, type: DeclaredType): string {
  const strange = strangeness(given);
  if (strange === undefined || (typeof given === 'number' && type !== 'text')) return misfit(type);
  return `is ${strange}, not ${type === 'text' ? 'a text' : expectations[type]}`;
}

function refuseNames(columns: readonly OutputColumn[], options: ProjectionOptions, { at }: SinkContext): void {
  const { caseless = false, json = false, nul } = options;
  if (columns.length === 0) throw new SinkError('E_SINK_VALUE', `${at}: there are no columns to write`);
  const added = new Set(addedColumns(options).map((column) => column.name));
  const seen = new Set(added);
  for (const { name, field } of columns) {
    const key = caseless ? name.toLowerCase() : name;
    const isTwice = seen.has(key) || added.has(field);
    if (isTwice) throw new SinkError('E_SINK_VALUE', `${at}: two columns are named ${name}${caseless ? ' (ignoring case)' : ''}`);
    seen.add(key);
    const flaw = name.includes('\0') ? nul : json || name.isWellFormed() ? undefined : 'has half a surrogate pair';
    if (flaw === undefined) continue;
    const remedy = 'leave the field out: by columns, or by undeclared: drop in its collection';
    throw new SinkError('E_SINK_FIELD', `${at}: the name ${JSON.stringify(name)} ${flaw}; ${remedy}`);
  }
}

export function unfitAt(place: RowPlace, { field, reason }: Fault): SinkError {
  return failureAt(place, (row) => new SinkError('E_SINK_VALUE', `${place.at}: field ${field} ${reason} in ${row}`));
}

/** Returns the exact value of a type, or `undefined`. */
type Cast = (value: Value) => Value | undefined;

/** Casts a text that is still bytes; after `undefined`, the full cast decides. */
type QuickCast = (texts: Utf8Vector, row: number) => Value | undefined;

/** Describes a value that no column can hold (rows of a program do not always match their type); `undefined` for others. */
function strangeness(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a non-finite number';
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (isInstant(value)) return undefined;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid date' : 'a date outside of the years 1 to 9999';
  if (value instanceof Promise) return 'a promise';
  return Array.isArray(value) ? 'a list' : 'an object';
}

/** Returns the cast of `types: typed`, which parses texts and checks other values. */
export function castTyped(type: DeclaredType): Cast {
  const [parse, check] = [parserOf(type), type === 'text' ? castText(type, false) : exact[type]];
  return (value) => (value === null ? null : typeof value === 'string' ? parse(value) : check(value));
}

/** Returns the cast of `types: text`. Numbers made by steps stay numbers in JSON; other formats would alter lone surrogates. */
function castText(type: DeclaredType, json: boolean): Cast {
  return (value) => {
    if (strangeness(value) !== undefined) return undefined;
    if (json && (typeof value === 'number' || typeof value === 'bigint')) return value;
    const text = textOf(value, type);
    return text === null || json || text.isWellFormed() ? text : undefined;
  };
}

/** A faster `castTyped` where it pays off: for numbers of few digits without surrounding characters. */
const quickCasts: { readonly [T in DeclaredType]?: QuickCast } = {
  integer: (texts, row) => {
    const whole = digitsIn(texts, row);
    return whole === undefined ? undefined : BigInt(whole);
  },
  decimal: digitsIn,
  timestamp: (texts, row) => {
    const seconds = digitsIn(texts, row);
    return seconds === undefined ? undefined : new Date(seconds * 1000);
  },
};

/** Up to this many digits, numbers are exact in every type, and valid timestamps. */
const maxDigits = 11;

function digitsIn(texts: Utf8Vector, row: number): number | undefined {
  const { bytes } = texts;
  const start = texts.start(row);
  const end = texts.end(row);
  if (end === start || end - start > maxDigits) return undefined;
  let whole = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    whole = 10 * whole + digit;
  }
  return whole;
}
