import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { collections } from '../../src/collections/index.js';
import { recordsIn } from '../../src/source/spool/page-log.js';
import type { SpooledSource } from '../../src/source/spool/folder.js';

export const secret = 'S3CRET-api-key';

/** Returns a source, with changes. */
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

/** Returns the bytes of a page: about 100 KB that differ from page to page. */
export function bodyOf(page: number): Uint8Array {
  return Buffer.from(JSON.stringify(Array.from({ length: 2_000 }, (_, row) => ({ lead_id: `${page}-${row}`, zipcode: '02134' }))));
}

/** Returns the numbers of the pages in a log, in the order in which they were spooled. The file is not changed. */
export async function pagesIn(log: string): Promise<readonly number[]> {
  await using file = await open(log);
  return Array.from(recordsIn(file.fd, (await file.stat()).size), ({ page }) => page);
}

/** The report of a run that may write only a few megabytes to a file. */
export interface Full {
  /** Absolute path of the folder of the source. */
  readonly folder: string;
  /** Pages spooled, in order. */
  readonly spooled: readonly number[];
  readonly failed: readonly { readonly page: number; readonly message: string }[];
  /** Total bytes of the records spooled. */
  readonly bytes: number;
}

/** Spools pages in a process whose files may not grow beyond 4 MB, until one fails, and then a small one. */
export async function startFull(spools: string): Promise<Full> {
  const limit = ['-c', 'ulimit -f 8192 && exec "$0" "$@"'];
  const program = [process.execPath, '--import', 'tsx', 'test/support/spool-full-child.ts', spools];
  const child = spawn('sh', [...limit, ...program], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } });
  return JSON.parse(await text(child.stdout)) as Full;
}
