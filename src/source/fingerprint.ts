import { createHash } from 'node:crypto';
import type { RecordBatch } from '../vector/index.js';

const known = new WeakMap<RecordBatch, string>();

/** What tells pages apart, in a few bytes: how many rows, the first and the last. It is asked for by several, and found once. */
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
 * Gives the text of a row by its index: all that it has, whatever fields the other rows of its page have, and in whatever order. Values are
 * text and null throughout here.
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
