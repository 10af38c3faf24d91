import { createHash } from 'node:crypto';
import type { RecordBatch } from '../vector/index.js';

const known = new WeakMap<RecordBatch, string>();

/** Identifies a page in a few bytes: the number of rows, and the first and last one. Several callers need it, so it is cached. */
export function fingerprintOf(batch: RecordBatch): string {
  const fingerprint = known.get(batch) ?? foundFor(batch);
  known.set(batch, fingerprint);
  return fingerprint;
}

function foundFor(batch: RecordBatch): string {
  const textOf = textsOf(batch);
  const ends = batch.length === 0 ? [] : [textOf(0), textOf(batch.length - 1)];
  return createHash('sha256')
    .update(JSON.stringify([batch.length, ...ends]))
    .digest('base64');
}

/**
 * Returns a function that returns the text of a row by index: all its fields, regardless of the fields of other rows and of their order.
 * All values here are text or `null`.
 */
export function textsOf(batch: RecordBatch): (row: number) => string {
  const columns = Array.from(batch.columns).sort(([a], [b]) => (a < b ? -1 : 1));
  return (row) => {
    const fields: string[] = [];
    for (const [name, vector] of columns) {
      const value = vector.value(row);
      if (value !== null) fields.push(name, String(value));
    }
    return JSON.stringify(fields);
  };
}
