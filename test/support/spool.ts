import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { collections } from '../../src/collections/index.js';
import { recordsIn } from '../../src/source/spool/record.js';
import type { SpooledSource } from '../../src/source/spool/source.js';

export const secret = 'S3CRET-api-key';

/** A source, with changes. */
export function sourceOf(changes: Partial<SpooledSource> = {}): SpooledSource {
  const own = {
    baseUrl: 'https://data.example/v1',
    account: { rest_api_key: secret },
    collection: collections.leads,
    limit: 500,
    firstPage: 1,
  } as const;
  return { ...own, ...changes };
}

/** The bytes of a page: some 100 KB that differ from page to page. */
export function bodyOf(page: number): Uint8Array {
  return Buffer.from(JSON.stringify(Array.from({ length: 2_000 }, (_, row) => ({ lead_id: `${page}-${row}`, zipcode: '02134' }))));
}

/** Numbers of the pages that a log holds, in the order of spool. The file stays as it is. */
export async function pagesIn(log: string): Promise<readonly number[]> {
  await using file = await open(log);
  return Array.from(recordsIn(file.fd, (await file.stat()).size), ({ page }) => page);
}

/** What a run tells that may write no more than some megabytes to a file. */
export interface Full {
  /** Absolute path of the folder of the source. */
  readonly folder: string;
  /** Pages spooled, in their order. */
  readonly spooled: readonly number[];
  readonly failed: readonly { readonly page: number; readonly message: string }[];
  /** Bytes of all records spooled. */
  readonly bytes: number;
}

/** Spools pages in a process whose files may not grow beyond 4 MB, until one fails, and then a small one. */
export async function startFull(spools: string): Promise<Full> {
  const limit = ['-c', 'ulimit -f 8192 && exec "$0" "$@"'];
  const program = [process.execPath, '--import', 'tsx', 'test/support/spool-full-child.ts', spools];
  const child = spawn('sh', [...limit, ...program], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } });
  return JSON.parse(await text(child.stdout)) as Full;
}
