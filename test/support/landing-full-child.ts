/** A run that lands pages, two at a time, until the system takes no more, and then a small one. Argument: folder. Prints what became of them. */
import { openLanding } from '../../src/source/spool/spool.js';
import { sourceOf, type Full } from './landing.js';

const [folder = ''] = process.argv.slice(2);
const landing = await openLanding({ folder, source: sourceOf(), runId: 'full', maxAgeMs: 3_600_000 });
const landed: number[] = [];
const failed: { page: number; message: string }[] = [];
let bytes = 0;

async function land(page: number, size: number): Promise<void> {
  try {
    await landing.land(page, Buffer.alloc(size, '[]'));
    landed.push(page);
    bytes += 32 + size;
  } catch (thrown) {
    failed.push({ page, message: String(thrown instanceof Error ? thrown.message : thrown) });
  }
}

let page = 1;
for (; failed.length === 0; page += 2) await Promise.all([land(page, 700_000), land(page + 1, 700_000)]);
await land(page, 1_000);
await landing.close();
console.log(JSON.stringify({ folder: landing.folder, landed, failed, bytes } satisfies Full));
