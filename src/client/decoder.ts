import { copier, originalName, snakeCase, textCopier, type Collection, type Column } from '../collections/index.js';
import { SourceError } from '../errors.js';
import { Table, Texts, type Cells } from '../columnar/index.js';
import type { Redactor } from '../redact.js';
import { nameShape, type RawRecord } from './records.js';
import { columnsIn, type Scanned } from './scan.js';

/** What rows of a collection had that its definition does not say. Counts are rows. */
export interface Findings {
  /** Fields that the definition does not list, by the service's name without credentials, in the order met. */
  readonly unknown: ReadonlyMap<string, { readonly column: Column; readonly rows: number }>;
  /** Declared columns that rows did not have. */
  readonly missing: ReadonlyMap<string, number>;
  /** Columns whose value was not a string and is kept as its JSON text. */
  readonly notText: ReadonlyMap<string, number>;
}

export interface Decoder {
  /**
   * Turns records into rows: declared columns first, snake_case, text or `null`.
   *
   * @param counted Whether `findings` count them; default true. Records that are read again were counted before.
   */
  decode(records: readonly RawRecord[], counted?: boolean): Record<string, string | null>[];
  /**
   * The same by columns, of records that all have the same fields and nothing but texts.
   *
   * @returns `undefined` for records that `decode` has to refuse.
   */
  decodeColumns(scanned: Scanned, counted?: boolean): Table | undefined;
  readonly findings: Findings;
}

/**
 * Makes rows of a collection out of what the service sent.
 *
 * A declared field that is missing (or JSON `null`) is `null`; a field that nobody declared is kept under its
 * snake_case name; a value that is no string is kept as its JSON text. Secret fields stay behind unless `reveal`
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
  const taken = new Set(declared.map(({ column }) => column));
  /** By the name that the service sent, and by the one that may be seen. */
  const unknown = new Map<string, { column: Column; rows: number; wanted: boolean }>();
  const seen = new Map<string, { readonly column: Column; readonly rows: number }>();
  const missing = new Map<string, number>();
  const notText = new Map<string, number>();
  let counting = true;

  function discover(sent: string) {
    const clean = redact(sent);
    const original = clean === sent ? sent : freeName(clean, seen, ' ');
    const column: Column = {
      name: freeName(snakeCase(original), taken),
      original,
      type: 'text',
      cast: false,
      sensitivity: collection.unknown,
    };
    taken.add(column.name);
    const found = { column, rows: 0, wanted: column.sensitivity !== 'secret' || reveal.includes(column.name) };
    unknown.set(sent, found);
    seen.set(original, found);
    return found;
  }

  function asText(column: string, value: unknown): string | null {
    if (value === null) return null;
    if (counting) count(notText, column);
    return JSON.stringify(value);
  }

  function decodeUnknown(record: RawRecord, row: Record<string, string | null>): void {
    for (const original of Object.keys(record)) {
      if (declaredNames.has(original)) continue;
      const value = record[original];
      const found = unknown.get(original) ?? discover(original);
      if (counting) found.rows += 1;
      if (found.wanted) row[found.column.name] = typeof value === 'string' ? value : asText(found.column.name, value);
    }
  }

  /** A record that lacks a declared field, or has one that is no text. */
  function decodeOdd(record: RawRecord): Record<string, string | null> {
    const values: (string | null)[] = [];
    let present = 0;
    for (const { column, original, wanted } of declared) {
      const value = record[original];
      if (value !== undefined) present += 1;
      else if (counting) count(missing, column);
      if (!wanted) continue;
      if (typeof value === 'string') values.push(value);
      else values.push(value === undefined ? null : asText(column, value));
    }
    if (present === 0) throw stranger(collection, record);
    const row = rowOf({}, values);
    if (Object.keys(record).length > present) decodeUnknown(record, row);
    return row;
  }

  function decodeRecord(record: RawRecord): Record<string, string | null> {
    const row = withheld.every(({ original }) => record[original] !== undefined) ? rowOfTexts(record) : undefined;
    if (row === undefined) return decodeOdd(record);
    if (Object.keys(record).length > declared.length) decodeUnknown(record, row);
    return row;
  }

  function decodeColumns(scanned: Scanned): Table | undefined {
    const { rows } = scanned;
    const sent = columnsIn(scanned);
    const columns = new Map<string, Cells>();
    for (const { column, original } of wanted) columns.set(column, sent.get(original) ?? new Array<null>(rows).fill(null));
    const keyed = collection.key.some((column) => {
      const cells = columns.get(column);
      return cells instanceof Texts && cells.some();
    });
    const absent = declared.filter(({ original }) => !sent.has(original));
    if (!keyed || absent.length === declared.length) return undefined;
    if (counting) for (const { column } of absent) count(missing, column, rows);
    for (const [original, texts] of sent) {
      if (declaredNames.has(original)) continue;
      const found = unknown.get(original) ?? discover(original);
      if (counting) found.rows += rows;
      if (found.wanted) columns.set(found.column.name, texts);
    }
    return new Table(rows, columns);
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
  };
}

/** Records of another collection can share field names with this one. */
function keyless(collection: Collection): SourceError {
  const message = `${collection.name}: no record of the answer has its key (${collection.key.join(' + ')})`;
  return new SourceError('E_SOURCE_ANSWER', 'suspect', message);
}

/** An error object in a list, or the records of something else. */
function stranger(collection: Collection, record: RawRecord): SourceError {
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

function freeName(name: string, taken: Pick<ReadonlySet<string>, 'has'>, joint = '_'): string {
  if (!taken.has(name)) return name;
  let suffix = 2;
  while (taken.has(`${name}${joint}${suffix}`)) suffix += 1;
  return `${name}${joint}${suffix}`;
}
