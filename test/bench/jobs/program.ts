import { join } from 'node:path';
import type * as Leadstream from '../../../src/index.js';
import { key, type Work } from '../job.js';

/** The streams in a program: leads as typed Parquet, without the spool and without a check for rows that moved. */
export async function prepare({ library }: { readonly library: string }): Promise<Work> {
  const { connect, writeTo, parquet }: typeof Leadstream = await import(library);
  return async ({ baseUrl, limit, concurrency, folder }) => {
    const service = connect({ baseUrl, auth: { rest_api_key: key }, limit, concurrency, endWaitMs: 1 });
    const sink = await parquet({ path: join(folder, 'out') });
    const { rows } = await writeTo(service.leads.with({ consistency: 'off' }), sink);
    await service.close();
    return rows;
  };
}
