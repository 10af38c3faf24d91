import { originalName, type Collection } from '../../collections/index.js';
import { amount, snakeCase, SourceError, undeclaredColumn, type Column, type Redactor } from '../../core/index.js';
import { RecordBatch } from '../../vector/index.js';

/** Maximum number of fields in a record, and in all records of a collection: beyond it, names are really data. */
export const maxFields = 4_096;

/** An undeclared field, by the name that the service sent, with credentials. It has a column once its page has come. */
interface Undeclared {
  readonly sent: string;
  rows: number;
  column?: Column;
}

/** Prefix of an undeclared field's name in a batch until its page comes. */
const unnamed = '\0';

/** The column that has, in batches with such rows, the name of a field with several values. */
export const faultColumn = ' fault';

/** What the rows of a collection have that its definition does not mention, counted in rows, and the columns of undeclared fields. */
export class Findings {
  /** Undeclared fields, by the service's name without credentials, in list order. */
  readonly unknown = new Map<string, Undeclared>();
  /** Declared columns that rows lack. */
  readonly missing = new Map<string, number>();
  /** Declared columns that some row has. */
  readonly present = new Set<string>();
  readonly #notText = new Map<string, number>();
  readonly #found = new Map<string, Undeclared>();
  readonly declared: ReadonlySet<string>;
  readonly #names = new Map<string, string>();
  readonly #seenNameOf: (name: string) => string;
  #nameOf: (name: string) => string;
  readonly #known = new Set<string>();
  #ofFirstPage: readonly string[] | undefined;
  #others: readonly string[] = [];
  /** Whether decoded rows are counted; records read again were counted already. */
  counting = true;

  constructor(
    private readonly collection: Collection,
    private readonly redact: Redactor = (name) => name,
  ) {
    this.declared = new Set(Object.entries(collection.fields).map(([column, field]) => originalName(column, field)));
    this.#nameOf = freeNames(Object.keys(collection.fields));
    this.#seenNameOf = freeNames(this.declared, ' ');
  }

  /** Columns whose value was not a string, and became its JSON text. */
  get notText(): ReadonlyMap<string, number> {
    const counts = Array.from(this.#notText, ([key, rows]) => [this.nameOf(key), rows] as const);
    return new Map(counts.filter(([name]) => !name.startsWith(unnamed)));
  }

  /** The undeclared fields with a column, unless withheld: reserved as known, then of the first page, then otherwise reserved. */
  get placed(): readonly Column[] {
    const originals = new Set([...this.#known, ...(this.#ofFirstPage ?? []), ...this.#others]);
    return this.collection.unknown === 'secret' ? [] : [...originals].map((original) => this.columnOf(original));
  }

  /** Fixes the names of undeclared fields before anything is read: first the last run's, then the others, which are named together. */
  reserve(known: readonly Pick<Column, 'name' | 'original'>[], others: readonly string[] = []): void {
    const { fields } = this.collection;
    const used = new Set(Object.keys(fields));
    for (const { name, original } of known) {
      if (Object.hasOwn(fields, name) || this.declared.has(original)) continue;
      // A renamed field is recognized by the service's name.
      this.#known.add(original);
      if (used.has(name) || this.#names.has(original)) continue;
      this.#names.set(original, name);
      used.add(name);
    }
    this.#others = others;
    this.#nameOf = freeNames(used);
    this.#nameTogether(others);
  }

  columnOf(original: string): Column {
    const name = this.#names.get(original) ?? this.#nameOf(snakeCase(original));
    this.#names.set(original, name);
    return undeclaredColumn(name, original, this.collection.unknown);
  }

  /** Names the undeclared columns of a page. Pages come in list order, but their answers in any order. */
  named(batch: RecordBatch): RecordBatch {
    const found = this.#found.size === 0 ? [] : [...batch.columns.keys()].flatMap((key) => this.#found.get(key) ?? []);
    this.#discover(found.filter(({ column }) => column === undefined));
    this.#ofFirstPage ??= [...this.unknown.keys()];
    if (found.length === 0) return batch;
    return new RecordBatch(batch.length, new Map(Array.from(batch.columns, ([key, vector]) => [this.nameOf(key), vector])));
  }

  nameOf(key: string): string {
    return this.#found.get(key)?.column?.name ?? key;
  }

  /** In rows, by name. */
  get counts() {
    return {
      unknown: Object.fromEntries([...this.unknown].map(([field, { rows }]) => [field, rows])),
      missing: Object.fromEntries(this.missing),
      notText: Object.fromEntries(this.notText),
    };
  }

  /** Adds what another process found, which counts pages that two of them read twice. */
  add({ unknown, missing, notText, present }: Findings['counts'] & { readonly present: readonly string[] }): void {
    this.counting = true;
    for (const [original, rows] of Object.entries(unknown)) {
      const found = this.#found.get(this.countUnknown(original, rows));
      if (found && found.column === undefined) this.#discover([found]);
    }
    for (const [name, rows] of Object.entries(missing)) this.#count(this.missing, name, rows);
    for (const [name, rows] of Object.entries(notText)) this.#count(this.#notText, name, rows);
    for (const name of present) this.present.add(name);
  }

  recount(): void {
    this.missing.clear();
    this.#notText.clear();
    for (const found of this.#found.values()) found.rows = 0;
  }

  countMissing(column: string, rows: number, present: number): void {
    if (present > 0) this.present.add(column);
    this.#count(this.missing, column, rows - present);
  }

  /** Counts values that should be text but are not: values declared as numbers or flags in a custom collection need not be text. */
  countNotText(column: string, rows: number): void {
    const { served, fields } = this.collection;
    if (served && (fields[column]?.type ?? 'text') !== 'text') return;
    this.#count(this.#notText, column, rows);
  }

  /** Counts rows with an undeclared field. @returns Its name in a batch. @throws {SourceError} `E_SOURCE_LIMIT` for too many fields. */
  countUnknown(sent: string, rows = 0): string {
    const key = unnamed + sent;
    let found = this.#found.get(key);
    if (found === undefined) {
      if (this.declared.size + this.#found.size >= maxFields)
        throw this.#tooWide(`records have more than ${amount(maxFields)} different fields`);
      this.#found.set(key, (found = { sent, rows: 0 }));
      // No batch has it.
      if (this.collection.unknown === 'secret') this.#discover([found]);
    }
    if (this.counting) found.rows += rows;
    return key;
  }

  checkWidth(fields: number): void {
    if (fields > maxFields) throw this.#tooWide(`a record has ${amount(fields)} fields, but at most ${amount(maxFields)} are read`);
  }

  #count(counts: Map<string, number>, name: string, rows: number): void {
    if (this.counting && rows > 0) counts.set(name, (counts.get(name) ?? 0) + rows);
  }

  #discover(found: readonly Undeclared[]): void {
    const fields = found.map((field) => ({ field, original: this.#seenNameOf(this.redact(field.sent)) }));
    this.#nameTogether(fields.map(({ original }) => original));
    for (const { field, original } of fields) {
      field.column = this.columnOf(original);
      this.unknown.set(original, field);
    }
  }

  /** Names fields that come together: one with the name of a column gets it, wherever it comes. */
  #nameTogether(originals: readonly string[]): void {
    for (const original of originals) if (snakeCase(original) === original) this.columnOf(original);
    for (const original of originals) this.columnOf(original);
  }

  #tooWide(what: string): SourceError {
    return new SourceError('E_SOURCE_LIMIT', 'permanent', `${this.collection.name}: ${what}`);
  }
}

/** Returns a function that makes names unique, with the joint `_` as `name`, `name_2`, `name_3`. */
function freeNames(given: Iterable<string>, joint = '_'): (name: string) => string {
  const used = new Set(given);
  const last = new Map<string, number>();
  return (name) => {
    let suffix = last.get(name) ?? 1;
    let free = name;
    while (used.has(free)) {
      suffix += 1;
      free = `${name}${joint}${suffix}`;
    }
    last.set(name, suffix);
    used.add(free);
    return free;
  };
}
