import type { Row, Value } from '../../src/core/index.js';
import { DictionaryVector, FlatVector, RecordBatch, Utf8Vector, type Vector } from '../../src/vector/index.js';
import { type Page, pageOf } from '../../src/flow/index.js';

/**
 * Turns rows into a batch like a page of the service: columns with only texts as bytes, others as values. A column counts as other if bytes cannot
 * represent one of its texts, such as a lone surrogate or a NUL.
 *
 * @param names The columns; by default the fields of the first row.
 */
export function batchOfTexts(rows: readonly Row[], names: readonly string[] = Object.keys(rows[0] ?? {})): RecordBatch {
  const columns = names.map((name): [string, readonly Value[]] => [name, rows.map((row) => row[name] ?? null)]);
  const texts = columns.filter(([, values]) => rows.length > 0 && values.every(isPlainText));
  const bounds = new Int32Array(2 * texts.length * rows.length);
  const pieces: Buffer[] = [];
  let at = 0;
  for (let index = 0; index < bounds.length; index += 2) {
    const text = Buffer.from(String(texts[(index / 2) % texts.length]?.[1][Math.floor(index / 2 / texts.length)]));
    pieces.push(between, text);
    bounds[index] = at + between.length;
    at += between.length + text.length;
    bounds[index + 1] = at;
  }
  const bytes = Buffer.concat(pieces);
  const cells = columns.map((column): [string, Vector] => {
    const place = texts.indexOf(column);
    return [column[0], place < 0 ? new FlatVector(column[1]) : new Utf8Vector(bytes, bounds, 2 * place, 2 * texts.length, rows.length)];
  });
  return new RecordBatch(rows.length, new Map(cells));
}

/**
 * Returns a function that makes batches from pages of rows as steps leave them: all columns have indices, and their dictionaries grow from page to page.
 *
 * @param shared Whether the columns of a page share their indices, with a different one for each row.
 */
export function dictionaryBatches(shared: boolean): (rows: readonly Row[], names?: readonly string[]) => RecordBatch {
  const dictionaries = new Map<string, Value[]>();
  let size = 0;

  return (rows, names = Object.keys(rows[0] ?? {})) => {
    const own = Uint16Array.from(rows, (_, row) => size + row);
    for (const name of names) {
      const dictionary = dictionaries.get(name) ?? [];
      dictionaries.set(name, dictionary);
      if (!shared) continue;
      while (dictionary.length < size) dictionary.push(null);
      dictionary.push(...rows.map((row) => row[name] ?? null));
    }
    if (shared) size += rows.length;
    const columns = names.map((name): [string, Vector] => {
      const dictionary = dictionaries.get(name) ?? [];
      return [
        name,
        new DictionaryVector(dictionary, shared ? own : Uint16Array.from(rows, (row) => codeOf(row[name] ?? null, dictionary))),
      ];
    });
    return new RecordBatch(rows.length, new Map(columns));
  };
}

function codeOf(value: Value, dictionary: Value[]): number {
  const code = dictionary.findIndex((known) => Object.is(known, value));
  return code < 0 ? dictionary.push(value) - 1 : code;
}

/** Returns the first page of a list. */
export function firstPage(batch: RecordBatch): Page {
  return pageOf(1, batch, { release: () => {} });
}

/** Returns a page of a batch that fails when rows are made from it. */
export function pageWithoutRows(number: number, batch: RecordBatch): Page {
  const made = {
    get: () => {
      throw new Error(`rows were made of page ${number}`);
    },
  };
  return pageOf(number, Object.defineProperty(batch, 'rows', made), { release: () => {} });
}

/** Bytes that a reader would see if it read too few or too many. */
const between = Buffer.from('","=');

/** Makes a column: as bytes if an answer can contain all its values as texts, otherwise as values. */
export function vectorOf(values: readonly Value[]): Vector {
  return values.every(isPlainText) ? textsOf(values.map(String)) : new FlatVector(values);
}

/** Whether an answer can contain a value as bytes: no lone surrogate, no NUL. */
function isPlainText(value: Value): boolean {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Stores texts one after another in a buffer, with other bytes between them, before the first and, if requested, after the last. */
export function textsOf(values: readonly string[], behind = '"'): Utf8Vector {
  const bounds = new Int32Array(3 * values.length + 1);
  let end = 1;
  for (const [index, value] of values.entries()) {
    bounds[1 + 3 * index] = end;
    bounds[2 + 3 * index] = end += Buffer.byteLength(value);
    end += 3;
  }
  return new Utf8Vector(Buffer.from(`"${values.join('","')}${behind}`), bounds, 1, 3, values.length);
}
