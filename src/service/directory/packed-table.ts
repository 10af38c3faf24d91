import { hashOfText, LeadstreamError, schema } from '../../core/index.js';
import type { ServedTable } from '../source.js';
import type { TextRow } from './rows.js';

const rowSchema = schema((z) => z.record(z.string(), z.string()));

/** How a table is packed. */
export interface Packing {
  /** File that the rows come from, for messages. */
  readonly file: string;
  /** Name of the field that `find` compares; a row without it is never found. */
  readonly idName: string;
  /** Most bytes of rows. Default 2,147,483,647, beyond which buffer offsets are not safe. */
  readonly maxBytes?: number;
}

/**
 * Creates a table whose rows stay in memory as JSON text in UTF-8: their bytes, up to doubled, and twelve more per row, up to doubled.
 *
 * `find` scans a hash per row, about a millisecond for a million rows. Rows that are given as the JSON text of a record are kept as they are, and `find` never
 * finds them.
 *
 * @throws {LeadstreamError} `E_DATA` for more bytes than it can hold.
 */
export async function packTable(
  rows: AsyncIterable<TextRow | string>,
  { file, idName, maxBytes = 2 ** 31 - 1 }: Packing,
): Promise<ServedTable> {
  let bytes = Buffer.allocUnsafe(Math.min(1 << 16, maxBytes));
  let size = 0;
  let ends = new Float64Array(1024);
  let hashes = new Uint32Array(1024);
  let count = 0;
  for await (const row of rows) {
    const text = typeof row === 'string' ? row : JSON.stringify(row);
    const needed = size + Buffer.byteLength(text);
    if (needed > maxBytes) throw new LeadstreamError('E_DATA', tooLarge(file, maxBytes));
    if (needed > bytes.length) bytes = Buffer.concat([bytes.subarray(0, size)], Math.min(2 * needed, maxBytes));
    size += bytes.write(text, size);
    if (count === ends.length) {
      const [longerEnds, longerHashes] = [new Float64Array(2 * count), new Uint32Array(2 * count)];
      longerEnds.set(ends);
      longerHashes.set(hashes);
      [ends, hashes] = [longerEnds, longerHashes];
    }
    ends[count] = size;
    hashes[count] = hashOfText((typeof row === 'string' ? undefined : row[idName]) ?? '');
    count += 1;
  }
  return tableOf(bytes, ends.subarray(0, count), hashes.subarray(0, count), idName);
}

function tooLarge(file: string, maxBytes: number): string {
  return `${file}: its rows take more than ${maxBytes.toLocaleString('en-US')} bytes as JSON, the maximum for a collection`;
}

/** A table without rows. */
export const emptyTable: ServedTable = { count: 0, row: () => '', find: () => [] };

function tableOf(bytes: Buffer, ends: Float64Array, hashes: Uint32Array, idName: string): ServedTable {
  const row = (index: number): string => bytes.toString('utf8', ends[index - 1] ?? 0, ends[index]);
  return {
    count: ends.length,
    row,
    find: (id) => {
      const found: number[] = [];
      const wanted = hashOfText(id);
      for (let index = hashes.indexOf(wanted); index !== -1; index = hashes.indexOf(wanted, index + 1)) {
        if (rowSchema().parse(JSON.parse(row(index)))[idName] === id) found.push(index);
      }
      return found;
    },
  };
}
