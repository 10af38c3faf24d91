import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { format } from 'fast-csv';
import type { Work } from '../job.js';
import { leadPages } from './fetch.js';

/** A loop over pages that passes every row to fast-csv and waits when it is full. */
export function prepare(): Promise<Work> {
  return Promise.resolve(async (job) => {
    const csv = format({ headers: true });
    const file = csv.pipe(createWriteStream(join(job.folder, 'out.csv')));
    let rows = 0;
    for await (const page of leadPages(job)) {
      rows += page.length;
      for (const row of page) if (!csv.write(row)) await once(csv, 'drain');
    }
    csv.end();
    await finished(file);
    return rows;
  });
}
