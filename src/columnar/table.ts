import { copier, type Copier, type Row, type Value } from '../collections/index.js';
import { Texts } from './texts.js';

/** The values of a column: texts as they came, or values that something made of them. */
export type Cells = Texts | readonly Value[];

/** The value in a row of a column. */
export function valueAt(cells: Cells, row: number): Value {
  return cells instanceof Texts ? cells.text(row) : (cells[row] ?? null);
}

/** All values of a column, for whoever cannot work on bytes. */
export function valuesOf(cells: Cells): readonly Value[] {
  return cells instanceof Texts ? Array.from({ length: cells.length }, (_, row) => cells.text(row)) : cells;
}

/** The values of some rows, in the order given. */
export function pickCells(cells: Cells, rows: readonly number[]): Cells {
  return cells instanceof Texts ? cells.pick(rows) : rows.map((row) => cells[row] ?? null);
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

  /** The value of a column in a row; `null` where there is no such column. */
  value(column: string, row: number): Value {
    const cells = this.columns.get(column);
    return cells === undefined ? null : valueAt(cells, row);
  }

  /** Some rows, in the order given; the same row may come more than once. */
  pick(rows: readonly number[]): Table {
    return new Table(rows.length, new Map([...this.columns].map(([name, cells]) => [name, pickCells(cells, rows)])));
  }

  /** Some of the columns, in the order given; those that it has. */
  only(columns: readonly string[]): Table {
    const found = columns.flatMap((name) => {
      const cells = this.columns.get(name);
      return cells ? [[name, cells] as const] : [];
    });
    return new Table(this.length, new Map(found));
  }

  /** The same rows with more columns, or others in their place. */
  with(added: Iterable<readonly [string, Cells]>): Table {
    return new Table(this.length, new Map([...this.columns, ...added]));
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
