import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Row } from '../../../src/core/index.js';
import { engineCodecs, fileOf, output } from '../../support/parquet-files.js';
import { temporaryFolder } from '../../support/temporary.js';

/**
 * SHA-256 of one small file by each engine with each codec, so that a library which writes other bytes than before is seen. Whether
 * readers still agree, the other tests tell; then `LEADSTREAM_GOLDEN=renew npm run jest -- parquet-golden` writes the digests anew.
 * They are the same in Node 20.19, 22 and 24, also where gzip is Node's zlib.
 */
const golden = 'test/golden/parquet-sha256.txt';

const types = ['text', 'flag', 'integer', 'decimal', 'timestamp', 'date'] as const;
const columns = types.map((type) => output(type, type, `The ${type}`));

/** Every type with nulls, of which two row groups are made. */
const rows = Array.from({ length: 300 }, (_, index): Row => {
  const orNull = <V>(every: number, value: V) => (index % every === 0 ? null : value);
  return {
    text: orNull(7, `é😀 ${index % 40}`),
    flag: orNull(5, index % 3 === 0),
    integer: orNull(11, BigInt(index) ** 7n - 10n ** 16n),
    decimal: orNull(13, (index - 150) / 7),
    timestamp: orNull(17, new Date(1_700_000_000_000 - index * 86_399_999)),
    date: orNull(19, new Date((index - 150) * 31 * 86_400_000)),
  };
});

/** One line per engine and codec. The version of leadstream, which the file names, is left out. */
async function digests(): Promise<string> {
  const folder = await temporaryFolder();
  const lines = engineCodecs.map(async ([engine, compression]) => {
    const bytes = await readFile(await fileOf(folder, columns, rows, { engine, compression, groupRows: 200, metadata: { key: 'value' } }));
    const text = bytes.toString('latin1').replace(/leadstream version \d+\.\d+\.\d+/, 'leadstream');
    return `${engine} ${compression} ${createHash('sha256').update(text, 'latin1').digest('hex')}\n`;
  });
  return (await Promise.all(lines)).join('');
}

test('the bytes of Parquet files are those that they were', async () => {
  const found = await digests();
  if (process.env['LEADSTREAM_GOLDEN'] === 'renew') await writeFile(golden, found);
  expect(found).toBe(await readFile(golden, 'utf8'));
});
