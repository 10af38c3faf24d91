import type { Row } from '../../src/collections/index.js';
import { Table, Texts, type Cells } from '../../src/columnar/index.js';
import type { Page } from '../../src/flow/index.js';

/**
 * Rows with the same fields in the same order as a table: columns that are texts throughout as bytes, which lie row by row in one
 * buffer with something between them, as in an answer; other columns as values.
 */
export function tableOf(rows: readonly Row[]): Table {
  const names = Object.keys(rows[0] ?? {});
  for (const row of rows) {
    if (Object.keys(row).join('\n') !== names.join('\n')) throw new Error('rows with different fields are no table');
  }
  const texts = names.filter((name) => rows.every((row) => isPlain(row[name])));
  const bounds = new Int32Array(2 * texts.length * rows.length);
  const pieces: Buffer[] = [];
  let at = 0;
  const add = (text: string) => {
    const piece = Buffer.from(text);
    pieces.push(piece);
    at += piece.length;
  };
  rows.forEach((row, index) => {
    texts.forEach((name, place) => {
      add('","');
      bounds[2 * (index * texts.length + place)] = at;
      add(String(row[name]));
      bounds[2 * (index * texts.length + place) + 1] = at;
    });
  });
  const bytes = Buffer.concat(pieces);
  const cellsOf = (name: string): Cells =>
    texts.includes(name)
      ? new Texts(bytes, bounds, 2 * texts.indexOf(name), 2 * texts.length, rows.length)
      : rows.map((row) => row[name] ?? null);
  return new Table(rows.length, new Map(names.map((name) => [name, cellsOf(name)])));
}

/** A page of a table that makes no rows, neither by itself nor by its table. */
export function pageWithoutRows(number: number, table: Table): Page {
  const made = {
    get: () => {
      throw new Error(`rows were made of page ${number}`);
    },
  };
  Object.defineProperty(table, 'rows', made);
  return Object.defineProperty({ number, rows: [], table, lease: { release: () => {} } }, 'rows', made);
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}
