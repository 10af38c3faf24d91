import { copier, type Copier, type Row, type Value } from '../collections/index.js';
import { Coded } from './coded.js';
import { Texts } from './texts.js';

/** The values of a column: texts as they came, or values that something made of them, with a dictionary where they are few. */
export type Cells = Texts | Coded | readonly Value[];

/** The value in a row of a column. */
export function valueAt(cells: Cells, row: number): Value {
  if (cells instanceof Texts) return cells.text(row);
  return cells instanceof Coded ? cells.value(row) : (cells[row] ?? null);
}

/** All values of a column, for whoever cannot work on bytes. */
export function valuesOf(cells: Cells): readonly Value[] {
  if (cells instanceof Texts) return Array.from({ length: cells.length }, (_, row) => cells.text(row));
  return cells instanceof Coded ? Array.from(cells.codes, (code) => cells.values[code] ?? null) : cells;
}

/** The values of some rows, in the order given. */
export function pickCells(cells: Cells, rows: readonly number[]): Cells {
  if (cells instanceof Texts) return cells.pick(rows);
  return cells instanceof Coded ? new Coded(cells.values, pickCodes(cells.codes, rows)) : rows.map((row) => cells[row] ?? null);
}

/** The same for some columns; those that share their codes still do. */
export function pickAll(columns: readonly Cells[], rows: readonly number[]): readonly Cells[] {
  const picked = new Map<Uint16Array, Uint16Array>();
  return columns.map((cells) => {
    if (!(cells instanceof Coded)) return pickCells(cells, rows);
    const codes = picked.get(cells.codes) ?? pickCodes(cells.codes, rows);
    picked.set(cells.codes, codes);
    return new Coded(cells.values, codes);
  });
}

/**
 * Rows of a page as columns, in the order in which a row has its fields. What works on columns leaves most texts alone, from
 * the answer to the file; what works on rows gets rows, made when it asks.
 */
export class Table {
  #rows: readonly Row[] | undefined;

  constructor(
    /** Rows. */
    readonly length: number,
    readonly columns: ReadonlyMap<string, Cells>,
  ) {}

  /** The rows as objects. They are made once. */
  get rows(): readonly Row[] {
    return (this.#rows ??= this.#made());
  }

  /** One row as an object of its own. */
  row(index: number): Row {
    const copy = copierOf([...this.columns.keys()]);
    return copy({}, this.#valuesAt([...this.columns.values()], index));
  }

  /** Some rows, in the order given; the same row may come more than once. */
  pick(rows: readonly number[]): Table {
    const picked = pickAll([...this.columns.values()], rows);
    return new Table(rows.length, new Map([...this.columns.keys()].map((name, index) => [name, picked[index] ?? []])));
  }

  /** Some of the columns, in the order given; those that it has. */
  only(columns: readonly string[]): Table {
    const found = columns.flatMap((name) => {
      const cells = this.columns.get(name);
      return cells ? [[name, cells] as const] : [];
    });
    return new Table(this.length, new Map(found));
  }

  #made(): readonly Row[] {
    const copy = copierOf([...this.columns.keys()]);
    const columns = [...this.columns.values()];
    return Array.from({ length: this.length }, (_, row) => copy({}, this.#valuesAt(columns, row)));
  }

  #valuesAt(columns: readonly Cells[], row: number): Value[] {
    return columns.map((cells) => valueAt(cells, row));
  }
}

function pickCodes(codes: Uint16Array, rows: readonly number[]): Uint16Array {
  return Uint16Array.from(rows, (row) => codes[row] ?? 0);
}

/** What makes rows of some fields. A run has a few such sets; a stream of ever new ones must not fill the memory. */
const copiers = new Map<string, Copier>();
const mostCopiers = 64;

function copierOf(names: readonly string[]): Copier {
  const shape = JSON.stringify(names);
  const known = copiers.get(shape);
  if (known) return known;
  if (copiers.size >= mostCopiers) copiers.clear();
  const made = copier(new Map(names.map((name, index) => [name, index])));
  copiers.set(shape, made);
  return made;
}
