/** Spools pages endlessly, until it is killed. Arguments: folder, first page. Sends the number of each page spooled. */
import { openSpool } from '../../src/source/spool/spool.js';
import { bodyOf, sourceOf } from './spool.js';

const [folder = '', first = '1'] = process.argv.slice(2);
const spool = await openSpool({ folder, source: sourceOf(), runId: `child-${process.pid}`, maxAgeMs: 60_000 });
process.send?.({ resumed: spool.resumed });
const strand = async (start: number) => {
  for (let page = start; ; page += 4) {
    await spool.write(page, bodyOf(page));
    process.send?.({ page });
  }
};
await Promise.all([0, 1, 2, 3].map((offset) => strand(Number(first) + offset)));
