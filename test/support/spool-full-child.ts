/** Spools pages, two at a time, until the system accepts no more, and then a small one. Argument: folder. Prints the outcome. */
import { openSpool } from '../../src/source/spool/spool.js';
import { sourceOf, type Full } from './spool.js';

const [folder = ''] = process.argv.slice(2);
const spool = await openSpool({ folder, source: sourceOf(), runId: 'full', maxAgeMs: 3_600_000 });
const spooled: number[] = [];
const failed: { page: number; message: string }[] = [];
let bytes = 0;

async function write(page: number, size: number): Promise<void> {
  try {
    await spool.write(page, Buffer.alloc(size, '[]'));
    spooled.push(page);
    bytes += 32 + size;
  } catch (thrown) {
    failed.push({ page, message: String(thrown instanceof Error ? thrown.message : thrown) });
  }
}

let page = 1;
for (; failed.length === 0; page += 2) await Promise.all([write(page, 700_000), write(page + 1, 700_000)]);
await write(page, 1_000);
await spool.close();
console.log(JSON.stringify({ folder: spool.folder, spooled, failed, bytes } satisfies Full));
