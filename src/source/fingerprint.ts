import { createHash } from 'node:crypto';
import { rowAt, rowsIn, type Content } from '../columnar/index.js';

/** What tells pages apart, in a few bytes: how many rows, the first and the last. Rows are text and null throughout here. */
export function fingerprintOf<T>(content: Content<T>): string {
  const ends = JSON.stringify([content.length, rowAt(content, 0), rowAt(content, content.length - 1)]);
  return createHash('sha256').update(ends).digest('base64');
}

/** Whether a row like that one is on a page. */
export function contains<T>(content: Content<T>, row: T): boolean {
  const fingerprint = fingerprintOf([row]);
  return rowsIn(content).some((other) => fingerprintOf([other]) === fingerprint);
}
