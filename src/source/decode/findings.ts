import { originalName, type Collection } from '../../collections/index.js';
import { amount, SourceError, undeclaredColumn, type Column, type Redactor } from '../../core/index.js';
import type { RecordBatch } from '../../vector/index.js';

/** Maximum number of fields in a record, and in all records of a collection together: with more, names are really data. */
export const maxFields = 4_096;

/** An undeclared field that was found; it is wanted if it is not secret, or revealed. */
interface Discovered {
  readonly column: Column;
  rows: number;
  readonly wanted: boolean;
}

/** What the rows of a collection have that its definition does not mention, counted in rows, and the columns of undeclared fields. */
export class Findings {
  /** Undeclared fields, by the service's name without credentials, in the order found. */
  readonly unknown = new Map<string, Discovered>();
  /** Declared columns that rows lacked. */
  readonly missing = new Map<string, number>();
  /** Columns whose value was not a string and is kept as its JSON text. */
  readonly notText = new Map<string, number>();
  /** The undeclared fields by the name that the service sent, with credentials. */
  readonly #sent = new Map<string, Discovered>();
  /** The declared fields by the service's own name. */
  readonly declared: ReadonlySet<string>;
  readonly #reserved = new Map<string, string>();
  readonly #seenNameOf: (name: string) => string;
  #nameOf: (name: string) => string;
  /** Whether rows decoded now are counted. Records that are read again were already counted. */
  counting = true;

  constructor(
    private readonly collection: Collection,
    private readonly reveal: readonly string[],
    private readonly redact: Redactor,
  ) {
    this.declared = new Set(Object.entries(collection.fields).map(([column, field]) => originalName(column, field)));
    this.#nameOf = freeNames(Object.keys(collection.fields));
    this.#seenNameOf = freeNames(this.declared, ' ');
  }

  /** Fixes the names of undeclared fields before anything is decoded, so that they match other places whatever comes first. */
  reserve(fields: readonly Pick<Column, 'name' | 'original'>[]): void {
    const taken = new Set(Object.keys(this.collection.fields));
    for (const { name, original } of fields) {
      if (taken.has(name) || this.#reserved.has(original) || this.declared.has(original)) continue;
      this.#reserved.set(original, name);
      taken.add(name);
    }
    this.#nameOf = freeNames(taken);
  }

  recount(): void {
    this.missing.clear();
    this.notText.clear();
    for (const found of this.#sent.values()) found.rows = 0;
  }

  countMissing(column: string, rows: number): void {
    this.#count(this.missing, column, rows);
  }

  /** Counts values that are not text but should be: in a custom collection, values declared as numbers or flags are not text in JSON. */
  countNotText(column: string, rows: number): void {
    const { served, fields } = this.collection;
    if (served && (fields[column]?.type ?? 'text') !== 'text') return;
    this.#count(this.notText, column, rows);
  }

  /** Counts rows that have an undeclared field. @throws {SourceError} `E_SOURCE_LIMIT` for more fields than allowed. */
  countUnknown(sent: string, rows: number): Discovered {
    const found = this.#sent.get(sent) ?? this.#discover(sent);
    if (this.counting) found.rows += rows;
    return found;
  }

  checkWidth(fields: number): void {
    if (fields > maxFields) throw this.#tooWide(`a record has ${amount(fields)} fields, but at most ${amount(maxFields)} are read`);
  }

  #count(counts: Map<string, number>, name: string, rows: number): void {
    if (this.counting && rows > 0) counts.set(name, (counts.get(name) ?? 0) + rows);
  }

  #discover(sent: string): Discovered {
    if (this.declared.size + this.#sent.size >= maxFields)
      throw this.#tooWide(`records have more than ${amount(maxFields)} different fields`);
    const original = this.#seenNameOf(this.redact(sent));
    const name = this.#reserved.get(original) ?? this.#nameOf(snakeCase(original));
    const { unknown: sensitivity } = this.collection;
    const wanted = sensitivity !== 'secret' || this.reveal.includes(name);
    const found = { column: undeclaredColumn(name, original, sensitivity), rows: 0, wanted };
    this.#sent.set(sent, found);
    this.unknown.set(original, found);
    return found;
  }

  #tooWide(what: string): SourceError {
    return new SourceError('E_SOURCE_LIMIT', 'permanent', `${this.collection.name}: ${what}`);
  }
}

/** Returns the columns of undeclared fields, except those that are withheld. */
export function discoveredColumns(findings: Findings, reveal: readonly string[] = []): readonly Column[] {
  return [...findings.unknown.values()]
    .map(({ column }) => column)
    .filter(({ name, sensitivity }) => sensitivity !== 'secret' || reveal.includes(name));
}

/** Returns those of these columns that rows have, in the order of the rows: pages come in order, whereas answers may arrive in any. */
export function discoveredIn({ columns }: RecordBatch, findings: Findings, reveal: readonly string[] = []): readonly Column[] {
  const byName = new Map(discoveredColumns(findings, reveal).map((column) => [column.name, column]));
  return [...columns.keys()].flatMap((name) => byName.get(name) ?? []);
}

/** Returns a function that makes names unique: `name`, `name_2`, `name_3` with the joint `_`. */
function freeNames(given: Iterable<string>, joint = '_'): (name: string) => string {
  const taken = new Set(given);
  const last = new Map<string, number>();
  return (name) => {
    let suffix = last.get(name) ?? 1;
    let free = name;
    while (taken.has(free)) {
      suffix += 1;
      free = `${name}${joint}${suffix}`;
    }
    last.set(name, suffix);
    taken.add(free);
    return free;
  };
}

/** Returns the column name of a field, `tc_base64_api_key` of `TC_base64ApiKey`: words split at non-alphanumerics and at humps. */
export function snakeCase(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return words.length === 0 ? 'field' : words.join('_').toLowerCase();
}
