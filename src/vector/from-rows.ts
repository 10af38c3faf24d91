import { columnReader, ownValue } from './copier.js';
import { itemAt, type Row, type Value } from '../core/index.js';
import { byShape } from './by-shape.js';
import { FlatVector } from './flat-vector.js';
import { RecordBatch } from './record-batch.js';

/**
 * Turns rows into a batch: one column for each field of any row, in order of appearance, with `null` in rows without it. Inherited
 * properties do not count as fields. Dates are copied, so later changes to them have no effect.
 */
export function batchFromRows(rows: readonly Row[]): RecordBatch {
  const names = Object.keys(rows[0] ?? {});
  const columns = rows.every((row) => hasFields(row, names)) ? columnsOf(names, rows) : columnsOfAny(rows);
  return new RecordBatch(rows.length, new Map(Array.from(columns, ([name, values]) => [name, new FlatVector(values)])));
}

/** Reads rows that all have the same fields in the same order. */
function columnsOf(names: readonly string[], rows: readonly Row[]): Iterable<readonly [string, readonly Value[]]> {
  const columns = readerOf(names)(rows);
  return columns.map((values, index) => [itemAt(names, index), values]);
}

function columnsOfAny(rows: readonly Row[]): Iterable<readonly [string, readonly Value[]]> {
  const columns = new Map<string, Value[]>();
  for (const [index, row] of rows.entries()) {
    for (const name of Object.keys(row)) {
      let values = columns.get(name);
      if (!values) columns.set(name, (values = new Array<Value>(rows.length).fill(null)));
      values[index] = ownValue(row[name] ?? null);
    }
  }
  return columns;
}

const readerOf = byShape(columnReader);

/** `for in` costs a third less than `Object.keys`. It lists inherited fields last, so if the last one is the row's own, all are. */
function hasFields(row: Row, names: readonly string[]): boolean {
  let index = 0;
  for (const name in row) {
    if (name !== names[index]) return false;
    index += 1;
  }
  const last = names.at(-1);
  return index === names.length && (last === undefined || Object.hasOwn(row, last));
}
