import { createHash } from 'node:crypto';
import type { Row } from '../core/index.js';
import type { RecordBatch } from '../vector/index.js';

/** What tells pages apart, in a few bytes: how many rows, the first and the last. */
export function fingerprintOf(batch: RecordBatch): string {
  const ends = batch.length === 0 ? [] : [textOfRow(batch.row(0)), textOfRow(batch.row(batch.length - 1))];
  return createHash('sha256')
    .update(JSON.stringify([batch.length, ...ends]))
    .digest('base64');
}

/** All that a row has, whatever fields the other rows of its page have. Values are text and null throughout here. */
export function textOfRow(row: Row): string {
  return JSON.stringify(
    Object.entries(row)
      .filter(([, value]) => value !== null)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
