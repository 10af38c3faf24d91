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
  /** Float64 offsets, one more than there are rows; the last one is where another row would begin. */
  readonly offsets: string;
  readonly rows: number;
}

/** What a page server serves. */
export interface Dataset {
  readonly leads: Rendered;
  readonly bridges: Rendered;
  readonly areacodes: Rendered;
}

/** Where rendered rows stay from run to run: 0.8 GB per million leads. */
const cache = join(tmpdir(), 'leadstream-bench');

/** Renders the rows that the generator makes for a seed, or finds them rendered by an earlier run. */
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
 * The zipcodes of the package `zipcodes` as a CSV file with zip, city and state: what DuckDB needs for the same enrichment.
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

/** A generator that makes other rows must not find the files of the earlier one. */
function lookOf({ count, row }: Rows): string {
  const hash = createHash('sha256');
  for (const index of [0, count >> 1, count - 1]) hash.update(row(index));
  return hash.digest('hex').slice(0, 12);
}

/** The offsets come last: where they are, the body is complete. */
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
