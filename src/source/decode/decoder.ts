import { copier, textCopier, FlatVector, RecordBatch, type Vector } from '../../vector/index.js';
import { originalName, type Collection } from '../../collections/index.js';
import { snakeCase, type Column, SourceError, type Redactor } from '../../core/index.js';
import { JsonText, type JsonRecord, type JsonValue } from '../../json/index.js';
import { freeNames } from './free-names.js';
import { nameShape } from './records.js';
import { columnsIn, type Scanned, type SentColumn } from './scan.js';

/** Fields that a record, and all records of a collection together, may have: more are data in the place of names. */
export const maxFields = 4_096;

/** What rows of a collection had that its definition does not say. Counts are rows. */
export interface Findings {
  /** Fields that the definition does not list, by the service's name without credentials, in the order met. */
  readonly unknown: ReadonlyMap<string, { readonly column: Column; readonly rows: number }>;
  /** Declared columns that rows did not have. */
  readonly missing: ReadonlyMap<string, number>;
  /** Columns whose value was not a string and is kept as its JSON text. */
  readonly notText: ReadonlyMap<string, number>;
}

/** An undeclared field and the column that it is. */
export interface KnownField {
  readonly name: string;
  /** The service's own name. */
  readonly original: string;
}

export interface Decoder {
  /**
   * Turns records into rows: declared columns first, snake_case, text or `null`.
   *
   * @param counted Whether `findings` count them; default true. Records that are read again were counted before.
   */
  decode(records: readonly JsonRecord[], counted?: boolean): Record<string, string | null>[];
  /**
   * The same by columns, of records that all have the same fields.
   *
   * @returns `undefined` for records that `decode` has to refuse.
   */
  decodeColumns(scanned: Scanned, counted?: boolean): RecordBatch | undefined;
  readonly findings: Findings;
  /** Gives undeclared fields the names that they have elsewhere, whatever comes first. To be called before anything is decoded. */
  reserve(fields: readonly KnownField[]): void;
}

/**
 * Makes rows of a collection out of what the service sent.
 *
 * A declared field that is missing (or JSON `null`) is `null`; a field that nobody declared is kept under its
 * snake_case name; a value that is no string is kept as its JSON text, a number as it was written. Secret fields stay behind unless `reveal`
 * names their column. What is called after a credential gets another name; values stay what they are.
 *
 * @param redact Takes credentials out of the names of fields.
 * @throws {SourceError} `E_SOURCE_ANSWER`, kind `suspect`, by `decode` for a record without any declared field, and for
 * records that all lack their key.
 */
export function createDecoder(collection: Collection, reveal: readonly string[] = [], redact: Redactor = (name) => name): Decoder {
  const declared = Object.entries(collection.fields).map(([column, field]) => ({
    column,
    original: originalName(column, field),
    wanted: field.sensitivity !== 'secret' || reveal.includes(column),
  }));
  const declaredNames = new Set(declared.map(({ original }) => original));
  const wanted = declared.filter((field) => field.wanted);
  const withheld = declared.filter((field) => !field.wanted);
  const rowOfTexts = textCopier(new Map(wanted.map(({ column, original }) => [column, original])));
  const rowOf = copier<string | null>(new Map(wanted.map(({ column }, index) => [column, index])));
  const declaredColumns = declared.map(({ column }) => column);
  const reserved = new Map<string, string>();
  let nameOf = freeNames(declaredColumns);
  const seenNameOf = freeNames(declaredNames, ' ');
  /** By the name that the service sent, and by the one that may be seen. */
  const unknown = new Map<string, { column: Column; rows: number; wanted: boolean }>();
  const seen = new Map<string, { readonly column: Column; readonly rows: number }>();
  const missing = new Map<string, number>();
  const notText = new Map<string, number>();
  let counting = true;

  function discover(sent: string) {
    if (declared.length + unknown.size >= maxFields)
      throw tooWide(collection, `records have more than ${amount(maxFields)} different fields`);
    const original = seenNameOf(redact(sent));
    const column: Column = {
      name: reserved.get(original) ?? nameOf(snakeCase(original)),
      original,
      type: 'text',
      cast: false,
      sensitivity: collection.unknown,
    };
    const found = { column, rows: 0, wanted: column.sensitivity !== 'secret' || reveal.includes(column.name) };
    unknown.set(sent, found);
    seen.set(original, found);
    return found;
  }

  function asText(column: string, value: JsonValue): string | null {
    if (!(value instanceof JsonText)) return value;
    if (counting) count(notText, column);
    return value.text;
  }

  function decodeUnknown(record: JsonRecord, row: Record<string, string | null>): void {
    for (const [original, value] of Object.entries(record)) {
      if (declaredNames.has(original)) continue;
      const found = unknown.get(original) ?? discover(original);
      if (counting) found.rows += 1;
      if (found.wanted) row[found.column.name] = asText(found.column.name, value);
    }
  }

  /** A record that lacks a declared field, or has one that is no text. */
  function decodeOdd(record: JsonRecord): Record<string, string | null> {
    const values: (string | null)[] = [];
    let present = 0;
    for (const { column, original, wanted } of declared) {
      const value = record[original];
      if (value !== undefined) present += 1;
      else if (counting) count(missing, column);
      if (!wanted) continue;
      values.push(value === undefined ? null : asText(column, value));
    }
    if (present === 0) throw stranger(collection, record);
    const row = rowOf({}, values);
    if (widthOf(record) > present) decodeUnknown(record, row);
    return row;
  }

  function decodeRecord(record: JsonRecord): Record<string, string | null> {
    const row = withheld.every(({ original }) => record[original] !== undefined) ? rowOfTexts(record) : undefined;
    if (row === undefined) return decodeOdd(record);
    if (widthOf(record) > declared.length) decodeUnknown(record, row);
    return row;
  }

  function widthOf(record: JsonRecord): number {
    return checkedWidth(collection, Object.keys(record).length);
  }

  function decodeColumns(scanned: Scanned): RecordBatch | undefined {
    const { rows, names } = scanned;
    checkedWidth(collection, names.length);
    const sent = columnsIn(scanned);
    const columns = new Map<string, Vector>();
    for (const { column, original } of wanted) columns.set(column, sent.get(original)?.vector ?? FlatVector.ofNulls(rows));
    const absent = declared.filter(({ original }) => !sent.has(original));
    if (!collection.key.some((column) => hasText(columns.get(column))) || absent.length === declared.length) return undefined;
    if (counting) for (const { column } of absent) count(missing, column, rows);
    for (const [original, { vector }] of sent) {
      if (declaredNames.has(original)) continue;
      const found = unknown.get(original) ?? discover(original);
      if (counting) found.rows += rows;
      if (found.wanted) columns.set(found.column.name, vector);
    }
    if (counting) countNotText(sent);
    return new RecordBatch(rows, columns);
  }

  function countNotText(sent: ReadonlyMap<string, SentColumn>): void {
    const kept = [
      ...wanted,
      ...[...unknown].flatMap(([original, found]) => (found.wanted ? [{ original, column: found.column.name }] : [])),
    ];
    for (const { column, original } of kept) {
      const rows = sent.get(original)?.notText ?? 0;
      if (rows > 0) count(notText, column, rows);
    }
  }

  function lacksKey(row: Record<string, string | null>): boolean {
    return collection.key.every((column) => (row[column] ?? '') === '');
  }

  return {
    decode: (records, counted = true) => {
      counting = counted;
      const rows = records.map(decodeRecord);
      if (rows.length > 0 && rows.every(lacksKey)) throw keyless(collection);
      return rows;
    },
    decodeColumns: (scanned, counted = true) => {
      counting = counted;
      return decodeColumns(scanned);
    },
    findings: { unknown: seen, missing, notText },
    reserve: (fields) => {
      const taken = new Set(declaredColumns);
      for (const { name, original } of fields) {
        if (taken.has(name) || reserved.has(original) || declaredNames.has(original)) continue;
        reserved.set(original, name);
        taken.add(name);
      }
      nameOf = freeNames(taken);
    },
  };
}

/** Whether any row has a text in a column that is not empty. */
function hasText(vector: Vector | undefined): boolean {
  for (let row = 0; vector && row < vector.length; row += 1) if (!vector.isEmpty(row)) return true;
  return false;
}

function checkedWidth(collection: Collection, fields: number): number {
  if (fields > maxFields) throw tooWide(collection, `a record has ${amount(fields)} fields, and at most ${amount(maxFields)} are read`);
  return fields;
}

function tooWide(collection: Collection, what: string): SourceError {
  return new SourceError('E_SOURCE_LIMIT', 'permanent', `${collection.name}: ${what}`);
}

function amount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Records of another collection can share field names with this one. */
function keyless(collection: Collection): SourceError {
  const message = `${collection.name}: no record of the answer has its key (${collection.key.join(' + ')})`;
  return new SourceError('E_SOURCE_ANSWER', 'suspect', message);
}

/** An error object in a list, or the records of something else. */
function stranger(collection: Collection, record: JsonRecord): SourceError {
  return new SourceError(
    'E_SOURCE_ANSWER',
    'suspect',
    `${collection.name}: a record has no field of ${collection.name}, it is ${nameShape(record)}`,
  );
}

/** The columns that unknown fields became, without those that are withheld. */
export function discoveredColumns(findings: Findings, reveal: readonly string[] = []): readonly Column[] {
  return [...findings.unknown.values()]
    .map(({ column }) => column)
    .filter(({ name, sensitivity }) => sensitivity !== 'secret' || reveal.includes(name));
}

function count(counts: Map<string, number>, name: string, rows = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + rows);
}
