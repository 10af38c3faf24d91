import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import parquet from 'parquetjs-lite';
import { collections, columnsOf } from '../columns.js';
import type { Work } from '../job.js';
import { leadPages } from './fetch.js';

/** A loop over pages that appends every row as text to a parquetjs-lite file. */
export function prepare(): Promise<Work> {
  return Promise.resolve(async (job) => {
    const fields = columnsOf(collections.leads).map(({ original }) => [
      original,
      { type: 'UTF8', optional: true, compression: 'SNAPPY', statistics: false } as const,
    ]);
    const schema = new parquet.ParquetSchema(Object.fromEntries(fields));
    const stream = createWriteStream(join(job.folder, 'out.parquet'));
    const writer = await parquet.ParquetWriter.openStream(schema, stream, { useDataPageV2: false, pageIndex: false });
    let rows = 0;
    for await (const page of leadPages(job)) {
      rows += page.length;
      for (const row of page) await writer.appendRow(row);
    }
    await writer.close();
    return rows;
  });
}
