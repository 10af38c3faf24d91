import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provinceOf } from '../../src/collections/index.js';
import { generate } from '../../src/service/index.js';

/** Rendered rows of one collection: a file `{…},{…}` and the offset of every row in it, so that any page is one slice. */
export interface Rendered {
  readonly body: string;
  /** Float64 offsets, one more than there are rows; the last one is where the next row would begin. */
  readonly offsets: string;
  readonly rows: number;
}

/** The data of a page server. */
export interface Dataset {
  readonly leads: Rendered;
  readonly bridges: Rendered;
  readonly areacodes: Rendered;
}

/** Folder where rendered rows are kept between runs: 0.8 GB per million leads. */
const cache = join(tmpdir(), 'leadstream-bench');

/** Renders the rows that the generator makes for a seed, or reuses those rendered by an earlier run. */
export async function dataset(leads: number, bridges: number): Promise<Dataset> {
  await mkdir(cache, { recursive: true });
  const source = generate({ leads, bridges, seed: 1 });
  return {
    leads: await rendered(`leads-${leads}-${bridges}`, source.leads),
    bridges: await rendered(`bridges-${bridges}`, source.bridges),
    areacodes: await rendered('areacodes', source.areacodes),
  };
}

/**
 * Writes the zipcodes of the package `zipcodes` to a CSV file with zip, city and state, which DuckDB needs for the same enrichment.
 *
 * @returns Its path.
 */
export async function zipTable(): Promise<string> {
  await mkdir(cache, { recursive: true });
  const require = createRequire(import.meta.url);
  const lines = new Set<string>();
  for (const file of ['zipcodes/lib/codes.js', 'zipcodes/lib/codesCanada.js']) {
    const text = await readFile(require.resolve(file), 'utf8');
    for (const [, zip = '', city = '', region = ''] of text.matchAll(/"zip":"([^"]+)"[^{}]*?"city":"([^"]*)","state":"([^"]*)"/g)) {
      lines.add(`${zip},"${city}",${provinceOf(zip) ?? region}`);
    }
  }
  const path = join(cache, 'zips.csv');
  await writeFile(path, `zip,city,state\n${[...lines].join('\n')}\n`);
  return path;
}

interface Rows {
  readonly count: number;
  row(index: number): string;
}

async function rendered(name: string, table: Rows): Promise<Rendered> {
  const body = join(cache, `${name}-${lookOf(table)}.json`);
  const found = { body, offsets: `${body}.offsets`, rows: table.count };
  const complete = await stat(found.offsets).catch(() => undefined);
  if (complete === undefined) await render(table, found);
  return found;
}

/** Returns a fingerprint of the rows, so that a changed generator does not reuse old files. */
function lookOf({ count, row }: Rows): string {
  const hash = createHash('sha256');
  for (const index of [0, count >> 1, count - 1]) hash.update(row(index));
  return hash.digest('hex').slice(0, 12);
}

/** Writes the offsets last: if they exist, the body is complete. */
async function render(table: Rows, { body, offsets }: Rendered): Promise<void> {
  const at = new Float64Array(table.count + 1);
  const file = await open(`${body}.part`, 'w');
  for (let start = 0, offset = 0; start < table.count;) {
    const texts: string[] = [];
    for (; texts.length < 5_000 && start < table.count; start += 1) {
      const text = table.row(start);
      texts.push(text);
      offset += Buffer.byteLength(text) + 1;
      at[start + 1] = offset;
    }
    await file.writeFile(texts.join(',') + (start < table.count ? ',' : ''));
  }
  await file.close();
  await rename(`${body}.part`, body);
  await writeFile(`${offsets}.part`, new Uint8Array(at.buffer));
  await rename(`${offsets}.part`, offsets);
}
