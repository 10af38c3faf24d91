import { FlatVector, RecordBatch, type Vector } from '../../vector/index.js';
import { originalName, type Collection } from '../../collections/index.js';
import { SourceError, type Redactor } from '../../core/index.js';
import { ambiguous, isList, isRecord, JsonText, type JsonRecord, type JsonValue, readJson, type JsonItem } from '../../json/index.js';
import { faultColumn, Findings } from './findings.js';
import { sentColumns, type Scanned, type SentColumn } from './scan.js';
import type { HttpAnswer } from '../../http/index.js';

/**
 * Converts what the service sent into columns of a collection. A missing declared field is `null`. An undeclared one is kept, under its own
 * name until its page comes. A value that is not a string becomes its JSON text, with numbers as written. Secret fields are left out unless
 * `reveal` names their column. A field with several values is `null`, and named in `faultColumn`. Other values never change.
 */
export class Decoder {
  /** The declared fields, and whether they are kept: not secret, or revealed. */
  readonly #declared: readonly { readonly column: string; readonly original: string; readonly wanted: boolean }[];
  readonly findings: Findings;
  readonly #dropsUndeclared: boolean;

  constructor(
    private readonly collection: Collection,
    reveal: readonly string[] = [],
    redact?: Redactor,
  ) {
    this.findings = new Findings(collection, redact);
    this.#declared = Object.entries(collection.fields).map(([column, field]) => ({
      column,
      original: originalName(column, field),
      wanted: field.sensitivity !== 'secret' || reveal.includes(column),
    }));
    this.#dropsUndeclared = collection.served?.dropsUndeclared ?? false;
  }

  /** @throws {SourceError} `E_SOURCE_ANSWER`, `suspect`, for a record without declared fields, and for records that all lack their key. */
  decode(records: readonly JsonRecord[], counted = true): RecordBatch {
    if (records.length === 0) return RecordBatch.empty;
    const { length } = records;
    const nulls = () => new Array<string | null>(length).fill(null);
    const fieldOf = (original: string, column: string | undefined) => ({ original, column, values: nulls(), present: 0, notText: 0 });
    const declared = this.#declared.map(({ original, column, wanted }) => fieldOf(original, wanted ? column : undefined));
    const unknown = new Map<string, ReturnType<typeof fieldOf>>();
    const faults = nulls();
    const put = (field: ReturnType<typeof fieldOf>, row: number, value: JsonValue, several?: readonly string[]) => {
      field.present += 1;
      if (several?.includes(field.original)) return void (faults[row] ??= field.column ?? null);
      const isText = typeof value === 'string' || value === null;
      field.values[row] = isText ? value : value.text;
      if (!isText) field.notText += 1;
    };
    for (const [row, record] of records.entries()) {
      let known = 0;
      const several = record[ambiguous];
      for (const field of declared) {
        const value = record[field.original];
        if (value === undefined) continue;
        put(field, row, value, several);
        known += 1;
      }
      if (known === 0) throw this.#suspect(`a record has none of the fields of ${this.collection.name}; it is ${nameShape(record)}`);
      const names = Object.keys(record);
      this.findings.checkWidth(names.length);
      if (names.length === known || this.#dropsUndeclared) continue;
      for (const [name, value] of Object.entries(record)) {
        if (this.findings.declared.has(name)) continue;
        // The number of fields that are read is limited.
        const column = this.findings.countUnknown(name);
        const field = unknown.get(name) ?? fieldOf(name, this.collection.unknown === 'secret' ? undefined : column);
        unknown.set(name, field);
        put(field, row, value, several);
      }
    }
    const sent = [...declared.filter(({ present }) => present > 0), ...unknown.values()];
    const columns = sent.map(({ original, values, ...counts }) => [original, { vector: new FlatVector(values), ...counts }] as const);
    const batch = this.#batchOf(length, new Map(columns), counted);
    // Records of another collection can share field names with this one.
    if (!batch) throw this.#suspect(`no record in the response has the key (${this.collection.key.join(' + ')})`);
    return faults.every((field) => field === null) ? batch : batch.with([[faultColumn, new FlatVector(faults)]]);
  }

  /** Converts records with the same fields. @returns `undefined` for records that `decode` must refuse. */
  decodeColumns(scanned: Scanned, counted = true): RecordBatch | undefined {
    this.findings.checkWidth(scanned.names.length);
    return this.#batchOf(scanned.rows, sentColumns(scanned), counted);
  }

  /** @returns `undefined` for rows without any key field; an empty one is a row's own. */
  #batchOf(rows: number, sent: ReadonlyMap<string, SentColumn>, counted: boolean): RecordBatch | undefined {
    const wanted = this.#declared.filter((field) => field.wanted);
    const columns = new Map<string, Vector>();
    for (const { column, original } of wanted) columns.set(column, sent.get(original)?.vector ?? FlatVector.ofNulls(rows));
    if (!wanted.some(({ column, original }) => this.collection.key.includes(column) && sent.has(original))) return undefined;
    const { findings } = this;
    findings.counting = counted;
    for (const { column, original } of this.#declared) findings.countMissing(column, rows, sent.get(original)?.present ?? 0);
    for (const { column, original } of wanted) findings.countNotText(column, sent.get(original)?.notText ?? 0);
    for (const [original, { vector, present, notText }] of sent) {
      if (this.#dropsUndeclared || findings.declared.has(original)) continue;
      const name = findings.countUnknown(original, present);
      if (this.collection.unknown === 'secret') continue;
      columns.set(name, vector);
      findings.countNotText(name, notText);
    }
    return new RecordBatch(rows, columns);
  }

  #suspect(what: string): SourceError {
    return new SourceError('E_SOURCE_ANSWER', 'suspect', `${this.collection.name}: ${what}`);
  }
}

/** Reads a list, which must be a JSON array of objects. @throws {SourceError} `E_SOURCE_ANSWER`, `suspect`, without content. */
export function readList(path: string, answer: HttpAnswer): readonly JsonRecord[] {
  const value = parse(path, answer);
  if (!isList(value)) throw suspect(path, answer, `not an array but ${nameShape(value)}`);
  const other = value.find((item) => !isRecord(item));
  if (other !== undefined) throw suspect(path, answer, `an array that contains ${nameShape(other)}`);
  return value.filter(isRecord);
}

/** Reads a single record: an array of records, a bare record, or an answer that means "none". */
export function readSingle(path: string, answer: HttpAnswer): readonly JsonRecord[] {
  if (answer.body.length === 0) return [];
  const value = parse(path, answer);
  if (value === null) return [];
  if (isList(value) || !isRecord(value)) return readList(path, answer);
  const names = Object.keys(value);
  if (names.length <= 2 && names.some((name) => /^(?:error|errors|message)$/i.test(name))) throw suspect(path, answer, nameShape(value));
  return names.length === 0 ? [] : [value];
}

function parse(path: string, answer: HttpAnswer): JsonItem | readonly JsonItem[] {
  const value = readJson(answer.body);
  if (value === undefined) throw notJson(path, answer);
  return value;
}

export function notJson(path: string, answer: HttpAnswer): SourceError {
  return suspect(path, answer, 'not JSON in UTF-8');
}

/** Describes a value without its content: its kind, and the first keys of an object. */
export function nameShape(value: JsonItem): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return 'a string';
  if (value instanceof JsonText) {
    if (value.text.startsWith('[')) return 'an array';
    return value.text === 'true' || value.text === 'false' ? 'a boolean' : 'a number';
  }
  const names = Object.keys(value)
    .slice(0, 5)
    .filter((name) => /^[\w .-]{1,40}$/.test(name));
  return names.length === 0 ? 'an object' : `an object with the keys ${names.join(', ')}`;
}

export function suspect(path: string, { status, body }: HttpAnswer, what: string): SourceError {
  return new SourceError('E_SOURCE_ANSWER', 'suspect', `${path}: HTTP ${status} with ${body.length} bytes: ${what}`, { status });
}
