import { openSync, readFileSync, readSync } from 'node:fs';
import type { Rendered } from './data.js';

/** Reads up to `limit` rows from an offset as a JSON array. The file is in the system's page cache, not in this process. */
export function opened({ body, offsets, rows }: Rendered): (first: number, limit: number) => Buffer {
  const file = openSync(body, 'r');
  const bytes = readFileSync(offsets);
  const at = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return (first, limit) => {
    const end = Math.min(first + limit, rows);
    if (first >= end) return Buffer.from('[]');
    const start = at[first] ?? 0;
    const length = (at[end] ?? 0) - start - 1;
    const page = Buffer.allocUnsafe(length + 2);
    page[0] = 0x5b;
    readSync(file, page, 1, length, start);
    page[length + 1] = 0x5d;
    return page;
  };
}
