import { originalName, type Collection } from '../../collections/index.js';
import { amount, snakeCase, SourceError, undeclaredColumn, type Column, type Redactor } from '../../core/index.js';
import type { RecordBatch } from '../../vector/index.js';
import { freeNames } from './free-names.js';

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

/** An undeclared field that was met. */
export interface Discovered {
  readonly column: Column;
  rows: number;
  /** Whether it is no secret, or one that is wanted. */
  readonly wanted: boolean;
}

/** Takes down what rows of a collection have that its definition does not say, and names the columns of undeclared fields. */
export class FieldFindings {
  /** By the name that the service sent, and by the one that may be seen. */
  readonly #sent = new Map<string, Discovered>();
  readonly #seen = new Map<string, Discovered>();
  readonly #missing = new Map<string, number>();
  readonly #notText = new Map<string, number>();
  readonly #declaredNames: ReadonlySet<string>;
  readonly #reserved = new Map<string, string>();
  readonly #seenNameOf: (name: string) => string;
  #nameOf: (name: string) => string;
  /** Whether what is decoded now counts. Records that are read again were counted before. */
  counting = true;

  /** @param redact Takes credentials out of the names of fields. */
  constructor(
    private readonly collection: Collection,
    private readonly reveal: readonly string[],
    private readonly redact: Redactor,
  ) {
    this.#declaredNames = new Set(Object.entries(collection.fields).map(([column, field]) => originalName(column, field)));
    this.#nameOf = freeNames(Object.keys(collection.fields));
    this.#seenNameOf = freeNames(this.#declaredNames, ' ');
  }

  get all(): Findings {
    return { unknown: this.#seen, missing: this.#missing, notText: this.#notText };
  }

  /** The undeclared fields that were met, by the name that the service sent. */
  get unknown(): ReadonlyMap<string, Discovered> {
    return this.#sent;
  }

  reserve(fields: readonly KnownField[]): void {
    const taken = new Set(Object.keys(this.collection.fields));
    for (const { name, original } of fields) {
      if (taken.has(name) || this.#reserved.has(original) || this.#declaredNames.has(original)) continue;
      this.#reserved.set(original, name);
      taken.add(name);
    }
    this.#nameOf = freeNames(taken);
  }

  /** Forgets the counts, for rows that are all read again. Undeclared fields stay known. */
  recount(): void {
    this.#missing.clear();
    this.#notText.clear();
    for (const found of this.#sent.values()) found.rows = 0;
  }

  /** Counts rows that lack a declared column. */
  countMissing(column: string, rows = 1): void {
    this.#count(this.#missing, column, rows);
  }

  /** Counts values that are no text, where they should be: what a collection of one's own declares as a number or flag is no text in JSON. */
  countNotText(column: string, rows = 1): void {
    const { served, fields } = this.collection;
    if (served && (fields[column]?.type ?? 'text') !== 'text') return;
    this.#count(this.#notText, column, rows);
  }

  /**
   * Counts rows that have an undeclared field.
   *
   * @throws {SourceError} `E_SOURCE_LIMIT` for one more than may be.
   */
  countUnknown(sent: string, rows = 1): Discovered {
    const found = this.#sent.get(sent) ?? this.#discover(sent);
    if (this.counting) found.rows += rows;
    return found;
  }

  /** @throws {SourceError} `E_SOURCE_LIMIT` for a record with more fields than may be. */
  checkedWidth(fields: number): number {
    if (fields > maxFields) throw this.#tooWide(`a record has ${amount(fields)} fields, and at most ${amount(maxFields)} are read`);
    return fields;
  }

  #count(counts: Map<string, number>, name: string, rows: number): void {
    if (this.counting) counts.set(name, (counts.get(name) ?? 0) + rows);
  }

  #discover(sent: string): Discovered {
    if (this.#declaredNames.size + this.#sent.size >= maxFields)
      throw this.#tooWide(`records have more than ${amount(maxFields)} different fields`);
    const original = this.#seenNameOf(this.redact(sent));
    const name = this.#reserved.get(original) ?? this.#nameOf(snakeCase(original));
    const sensitivity = this.collection.unknown;
    const column = undeclaredColumn(name, original, sensitivity);
    const found = { column, rows: 0, wanted: sensitivity !== 'secret' || this.reveal.includes(name) };
    this.#sent.set(sent, found);
    this.#seen.set(original, found);
    return found;
  }

  #tooWide(what: string): SourceError {
    return new SourceError('E_SOURCE_LIMIT', 'permanent', `${this.collection.name}: ${what}`);
  }
}

/** The columns that unknown fields became, without those that are withheld. */
export function discoveredColumns(findings: Findings, reveal: readonly string[] = []): readonly Column[] {
  return [...findings.unknown.values()]
    .map(({ column }) => column)
    .filter(({ name, sensitivity }) => sensitivity !== 'secret' || reveal.includes(name));
}

/** The columns that rows have of these fields, in the order in which the rows have them: answers may arrive in any order, pages do not. */
export function discoveredIn({ columns }: RecordBatch, findings: Findings, reveal: readonly string[] = []): readonly Column[] {
  const byName = new Map(discoveredColumns(findings, reveal).map((column) => [column.name, column]));
  return [...columns.keys()].flatMap((name) => byName.get(name) ?? []);
}
