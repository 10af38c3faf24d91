import { FlatVector, RecordBatch, type Vector } from '../../vector/index.js';
import { originalName, type Collection } from '../../collections/index.js';
import { SourceError, type Redactor, type Sensitivity } from '../../core/index.js';
import { JsonText, type JsonRecord, type JsonValue, readJson, type JsonItem } from '../../json/index.js';
import { FieldFindings, type Findings, type KnownField } from './findings.js';
import { columnsIn, type Scanned, type SentColumn } from './scan.js';
import type { Answer } from '../../http/index.js';

/** A declared field, prepared for decoding. */
interface Declared {
  readonly column: string;
  /** The service's own name. */
  readonly original: string;
  /** Whether the field is not secret, or revealed. */
  readonly wanted: boolean;
}

/**
 * Converts what the service sent into columns of a collection.
 *
 * A declared field that is missing (or JSON `null`) is `null`. An undeclared field is kept under its snake_case name. A value that is not a
 * string is kept as its JSON text, a number as written. Secret fields are left out unless `reveal` names their column. Credentials are
 * removed from field names; values are never changed.
 */
export class Decoder {
  readonly #declared: readonly Declared[];
  readonly #declaredNames: ReadonlySet<string>;
  readonly #wanted: readonly Declared[];
  readonly #fields: FieldFindings;
  readonly #dropsUndeclared: boolean;

  /**
   * @param redact Removes credentials from the names of fields.
   */
  constructor(
    private readonly collection: Collection,
    private readonly reveal: readonly string[] = [],
    redact: Redactor = (name) => name,
  ) {
    this.#fields = new FieldFindings(collection, reveal, redact);
    this.#declared = Object.entries(collection.fields).map(([column, field]) => ({
      column,
      original: originalName(column, field),
      wanted: this.#isWanted(column, field.sensitivity),
    }));
    this.#dropsUndeclared = collection.served?.dropsUndeclared ?? false;
    this.#declaredNames = new Set(this.#declared.map(({ original }) => original));
    this.#wanted = this.#declared.filter(({ wanted }) => wanted);
  }

  get findings(): Findings {
    return this.#fields.all;
  }

  /**
   * Converts records into columns: the declared ones first, in snake_case, with text or `null`.
   *
   * @param counted Whether `findings` count them. Records that are read again were already counted.
   * @throws {SourceError} `E_SOURCE_ANSWER`, kind `suspect`, for a record without any declared field, and for records that all lack their key.
   */
  decode(records: readonly JsonRecord[], counted = true): RecordBatch {
    if (records.length === 0) return RecordBatch.empty;
    this.#fields.counting = counted;
    const nulls = () => new Array<string | null>(records.length).fill(null);
    const declared = this.#declared.map((field) => ({ ...field, values: nulls() }));
    const unknown = new Map<string, (string | null)[]>();
    for (const [row, record] of records.entries()) {
      let present = 0;
      for (const { column, original, wanted, values } of declared) {
        const value = record[original];
        if (value === undefined) this.#fields.countMissing(column);
        else present += 1;
        if (wanted && value !== undefined) values[row] = this.#asText(column, value);
      }
      if (present === 0) throw stranger(this.collection, record);
      const width = this.#fields.checkedWidth(Object.keys(record).length);
      if (width === present || this.#dropsUndeclared) continue;
      for (const [original, value] of Object.entries(record)) {
        if (this.#declaredNames.has(original)) continue;
        const { wanted, column } = this.#fields.countUnknown(original);
        if (!wanted) continue;
        const values = unknown.get(column.name) ?? nulls();
        unknown.set(column.name, values);
        values[row] = this.#asText(column.name, value);
      }
    }
    const known = declared.flatMap(({ column, wanted, values }) => (wanted ? [[column, values] as const] : []));
    const columns = new Map(Array.from([...known, ...unknown], ([name, values]) => [name, new FlatVector(values)]));
    if (!this.#hasKeys(columns)) throw keyless(this.collection);
    return new RecordBatch(records.length, columns);
  }

  /**
   * Converts records that all have the same fields into columns.
   *
   * @returns `undefined` for records that `decode` must refuse.
   */
  decodeColumns(scanned: Scanned, counted = true): RecordBatch | undefined {
    this.#fields.counting = counted;
    const { rows, names } = scanned;
    this.#fields.checkedWidth(names.length);
    const sent = columnsIn(scanned);
    const columns = new Map<string, Vector>();
    for (const { column, original } of this.#wanted) columns.set(column, sent.get(original)?.vector ?? FlatVector.ofNulls(rows));
    const absent = this.#declared.filter(({ original }) => !sent.has(original));
    if (!this.#hasKeys(columns) || absent.length === this.#declared.length) return undefined;
    for (const { column } of absent) this.#fields.countMissing(column, rows);
    for (const [original, { vector }] of sent) {
      if (this.#dropsUndeclared || this.#declaredNames.has(original)) continue;
      const found = this.#fields.countUnknown(original, rows);
      if (found.wanted) columns.set(found.column.name, vector);
    }
    this.#countNotText(sent);
    return new RecordBatch(rows, columns);
  }

  /** Restarts the counts, since everything decoded will come again. */
  recount(): void {
    this.#fields.recount();
  }

  /** Fixes the names of undeclared fields, so that they match other places whatever comes first. Call it before decoding. */
  reserve(fields: readonly KnownField[]): void {
    this.#fields.reserve(fields);
  }

  #isWanted(column: string, sensitivity: Sensitivity): boolean {
    return sensitivity !== 'secret' || this.reveal.includes(column);
  }

  #asText(column: string, value: JsonValue): string | null {
    if (!(value instanceof JsonText)) return value;
    this.#fields.countNotText(column);
    return value.text;
  }

  #hasKeys(columns: ReadonlyMap<string, Vector>): boolean {
    return this.collection.key.some((column) => hasText(columns.get(column)));
  }

  #countNotText(sent: ReadonlyMap<string, SentColumn>): void {
    const unknown = [...this.#fields.unknown].flatMap(([original, { wanted, column }]) =>
      wanted ? [{ original, column: column.name }] : [],
    );
    for (const { column, original } of [...this.#wanted, ...unknown]) {
      const rows = sent.get(original)?.notText ?? 0;
      if (rows > 0) this.#fields.countNotText(column, rows);
    }
  }
}

/** Returns whether any row has a non-empty text in a column. */
function hasText(vector: Vector | undefined): boolean {
  for (let row = 0; vector && row < vector.length; row += 1) if (!vector.isEmpty(row)) return true;
  return false;
}

/** Creates the failure for records without keys: records of another collection can share field names with this one. */
function keyless(collection: Collection): SourceError {
  const message = `${collection.name}: no record in the response has the key (${collection.key.join(' + ')})`;
  return new SourceError('E_SOURCE_ANSWER', 'suspect', message);
}

/** Creates the failure for an error object in a list, or records of something else. */
function stranger(collection: Collection, record: JsonRecord): SourceError {
  return new SourceError(
    'E_SOURCE_ANSWER',
    'suspect',
    `${collection.name}: a record has none of the fields of ${collection.name}; it is ${nameShape(record)}`,
  );
}

/**
 * Reads a list answer: a JSON array of objects and nothing else.
 *
 * @param path For messages.
 * @throws {SourceError} `E_SOURCE_ANSWER`, kind `suspect`, whose message has status, size and key names, but never content.
 */
export function readList(path: string, answer: Answer): readonly JsonRecord[] {
  const value = parse(path, answer);
  if (!isList(value)) throw suspect(path, answer, `not an array but ${nameShape(value)}`);
  const stranger = value.find((item) => !isRecord(item));
  if (stranger !== undefined) throw suspect(path, answer, `an array that contains ${nameShape(stranger)}`);
  return value.filter(isRecord);
}

/** Reads the answer for a single record: an array of records, a bare record, or an answer that means "none". */
export function readSingle(path: string, answer: Answer): readonly JsonRecord[] {
  if (answer.body.length === 0) return [];
  const value = parse(path, answer);
  if (value === null) return [];
  if (!isList(value) && isRecord(value)) return singleRecord(path, answer, value);
  return readList(path, answer);
}

function singleRecord(path: string, answer: Answer, value: JsonRecord): readonly JsonRecord[] {
  const names = Object.keys(value);
  if (names.length === 0) return [];
  if (names.length <= 2 && names.some((name) => /^(?:error|errors|message)$/i.test(name))) throw suspect(path, answer, nameShape(value));
  return [value];
}

function parse(path: string, answer: Answer): JsonItem | readonly JsonItem[] {
  const value = readJson(answer.body);
  if (value === undefined) throw suspect(path, answer, 'not JSON');
  return value;
}

function isList(value: JsonItem | readonly JsonItem[]): value is readonly JsonItem[] {
  return Array.isArray(value);
}

function isRecord(value: JsonItem): value is JsonRecord {
  return typeof value === 'object' && value !== null && !(value instanceof JsonText);
}

/** Describes a value without its content: its kind, and the first keys of an object. */
export function nameShape(value: JsonItem): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return 'a string';
  if (value instanceof JsonText) return kindOf(value);
  const names = Object.keys(value)
    .slice(0, 5)
    .filter((name) => /^[\w .-]{1,40}$/.test(name));
  return names.length === 0 ? 'an object' : `an object with the keys ${names.join(', ')}`;
}

/** Describes a list within a list, or a value that is neither list nor record. */
function kindOf({ text }: JsonText): string {
  if (text.startsWith('[')) return 'an array';
  return text === 'true' || text === 'false' ? 'a boolean' : 'a number';
}

/** Creates the failure for an answer that is not what was requested. */
export function suspect(path: string, { status, body }: Answer, what: string): SourceError {
  return new SourceError('E_SOURCE_ANSWER', 'suspect', `${path}: HTTP ${status} with ${body.length} bytes: ${what}`, { status });
}
