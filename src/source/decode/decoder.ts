import { copier, textCopier, type Copier, FlatVector, RecordBatch, type Vector } from '../../vector/index.js';
import { originalName, type Collection } from '../../collections/index.js';
import { snakeCase, type Column, SourceError, type Redactor, type Sensitivity } from '../../core/index.js';
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

/** A declared field as it is decoded. */
interface Declared {
  readonly column: string;
  /** The service's own name. */
  readonly original: string;
  /** Whether it is no secret, or one that is wanted. */
  readonly wanted: boolean;
}

/** An undeclared field that was met. */
interface Discovered {
  readonly column: Column;
  rows: number;
  readonly wanted: boolean;
}

/**
 * Makes rows of a collection out of what the service sent.
 *
 * A declared field that is missing (or JSON `null`) is `null`; a field that nobody declared is kept under its
 * snake_case name; a value that is no string is kept as its JSON text, a number as it was written. Secret fields stay behind unless `reveal`
 * names their column. What is called after a credential gets another name; values stay what they are.
 */
export class Decoder {
  readonly #declared: readonly Declared[];
  readonly #declaredNames: ReadonlySet<string>;
  readonly #wanted: readonly Declared[];
  readonly #withheld: readonly Declared[];
  readonly #rowOfTexts: (record: JsonRecord) => Record<string, string | null> | undefined;
  readonly #rowOf: Copier<string | null>;
  readonly #reserved = new Map<string, string>();
  #nameOf: (name: string) => string;
  readonly #seenNameOf: (name: string) => string;
  /** By the name that the service sent, and by the one that may be seen. */
  readonly #unknown = new Map<string, Discovered>();
  readonly #seen = new Map<string, Discovered>();
  readonly #missing = new Map<string, number>();
  readonly #notText = new Map<string, number>();
  /** Whether findings count what is decoded now. */
  #counting = true;
  readonly #dropsUndeclared: boolean;

  /** @param redact Takes credentials out of the names of fields. */
  constructor(
    private readonly collection: Collection,
    private readonly reveal: readonly string[] = [],
    private readonly redact: Redactor = (name) => name,
  ) {
    this.#declared = Object.entries(collection.fields).map(([column, field]) => ({
      column,
      original: originalName(column, field),
      wanted: this.#isWanted(column, field.sensitivity),
    }));
    this.#dropsUndeclared = collection.served?.dropsUndeclared ?? false;
    this.#declaredNames = new Set(this.#declared.map(({ original }) => original));
    this.#wanted = this.#declared.filter(({ wanted }) => wanted);
    this.#withheld = this.#declared.filter(({ wanted }) => !wanted);
    this.#rowOfTexts = textCopier(new Map(this.#wanted.map(({ column, original }) => [column, original])));
    this.#rowOf = copier<string | null>(new Map(this.#wanted.map(({ column }, index) => [column, index])));
    this.#nameOf = freeNames(this.#declared.map(({ column }) => column));
    this.#seenNameOf = freeNames(this.#declaredNames, ' ');
  }

  get findings(): Findings {
    return { unknown: this.#seen, missing: this.#missing, notText: this.#notText };
  }

  /**
   * Turns records into rows: declared columns first, snake_case, text or `null`.
   *
   * @param counted Whether `findings` count them. Records that are read again were counted before.
   * @throws {SourceError} `E_SOURCE_ANSWER`, kind `suspect`, for a record without any declared field, and for records that all lack their
   * key.
   */
  decode(records: readonly JsonRecord[], counted = true): Record<string, string | null>[] {
    this.#counting = counted;
    const rows = records.map((record) => this.#decodeRecord(record));
    if (rows.length > 0 && rows.every((row) => this.#lacksKey(row))) throw keyless(this.collection);
    return rows;
  }

  /**
   * The same by columns, of records that all have the same fields.
   *
   * @returns `undefined` for records that `decode` has to refuse.
   */
  decodeColumns(scanned: Scanned, counted = true): RecordBatch | undefined {
    this.#counting = counted;
    const { rows, names } = scanned;
    checkedWidth(this.collection, names.length);
    const sent = columnsIn(scanned);
    const columns = new Map<string, Vector>();
    for (const { column, original } of this.#wanted) columns.set(column, sent.get(original)?.vector ?? FlatVector.ofNulls(rows));
    const absent = this.#declared.filter(({ original }) => !sent.has(original));
    if (!this.collection.key.some((column) => hasText(columns.get(column))) || absent.length === this.#declared.length) return undefined;
    for (const { column } of absent) this.#count(this.#missing, column, rows);
    for (const [original, { vector }] of sent) {
      if (this.#dropsUndeclared || this.#declaredNames.has(original)) continue;
      const found = this.#unknown.get(original) ?? this.#discover(original);
      if (this.#counting) found.rows += rows;
      if (found.wanted) columns.set(found.column.name, vector);
    }
    this.#countNotText(sent);
    return new RecordBatch(rows, columns);
  }

  /** Gives undeclared fields the names that they have elsewhere, whatever comes first. To be called before anything is decoded. */
  reserve(fields: readonly KnownField[]): void {
    const taken = new Set(this.#declared.map(({ column }) => column));
    for (const { name, original } of fields) {
      if (taken.has(name) || this.#reserved.has(original) || this.#declaredNames.has(original)) continue;
      this.#reserved.set(original, name);
      taken.add(name);
    }
    this.#nameOf = freeNames(taken);
  }

  #isWanted(column: string, sensitivity: Sensitivity): boolean {
    return sensitivity !== 'secret' || this.reveal.includes(column);
  }

  #count(counts: Map<string, number>, name: string, rows = 1): void {
    if (this.#counting) counts.set(name, (counts.get(name) ?? 0) + rows);
  }

  #discover(sent: string): Discovered {
    if (this.#declared.length + this.#unknown.size >= maxFields)
      throw tooWide(this.collection, `records have more than ${amount(maxFields)} different fields`);
    const original = this.#seenNameOf(this.redact(sent));
    const name = this.#reserved.get(original) ?? this.#nameOf(snakeCase(original));
    const sensitivity = this.collection.unknown;
    const column: Column = { name, original, type: 'text', cast: false, sensitivity, undeclared: true };
    const found = { column, rows: 0, wanted: this.#isWanted(name, sensitivity) };
    this.#unknown.set(sent, found);
    this.#seen.set(original, found);
    return found;
  }

  #decodeRecord(record: JsonRecord): Record<string, string | null> {
    const row = this.#withheld.every(({ original }) => record[original] !== undefined) ? this.#rowOfTexts(record) : undefined;
    if (row === undefined) return this.#decodeOdd(record);
    if (this.#widthOf(record) > this.#declared.length) this.#decodeUnknown(record, row);
    return row;
  }

  /** A record that lacks a declared field, or has one that is no text. */
  #decodeOdd(record: JsonRecord): Record<string, string | null> {
    const values: (string | null)[] = [];
    let present = 0;
    for (const { column, original, wanted } of this.#declared) {
      const value = record[original];
      if (value !== undefined) present += 1;
      else this.#count(this.#missing, column);
      if (!wanted) continue;
      values.push(value === undefined ? null : this.#asText(column, value));
    }
    if (present === 0) throw stranger(this.collection, record);
    const row = this.#rowOf({}, values);
    if (this.#widthOf(record) > present) this.#decodeUnknown(record, row);
    return row;
  }

  #decodeUnknown(record: JsonRecord, row: Record<string, string | null>): void {
    if (this.#dropsUndeclared) return;
    for (const [original, value] of Object.entries(record)) {
      if (this.#declaredNames.has(original)) continue;
      const found = this.#unknown.get(original) ?? this.#discover(original);
      if (this.#counting) found.rows += 1;
      if (found.wanted) row[found.column.name] = this.#asText(found.column.name, value);
    }
  }

  #asText(column: string, value: JsonValue): string | null {
    if (!(value instanceof JsonText)) return value;
    this.#count(this.#notText, column);
    return value.text;
  }

  #widthOf(record: JsonRecord): number {
    return checkedWidth(this.collection, Object.keys(record).length);
  }

  #lacksKey(row: Record<string, string | null>): boolean {
    return this.collection.key.every((column) => (row[column] ?? '') === '');
  }

  #countNotText(sent: ReadonlyMap<string, SentColumn>): void {
    const unknown = [...this.#unknown].flatMap(([original, { wanted, column }]) => (wanted ? [{ original, column: column.name }] : []));
    for (const { column, original } of [...this.#wanted, ...unknown]) {
      const rows = sent.get(original)?.notText ?? 0;
      if (rows > 0) this.#count(this.#notText, column, rows);
    }
  }
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
