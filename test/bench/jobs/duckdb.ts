import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { key, type Job, type Work } from '../job.js';

const run = promisify(execFile);

/** One curl for all pages of the three collections, then one DuckDB statement over the files. */
export function prepare(): Promise<Work> {
  return Promise.resolve(async (job) => {
    const list = join(job.folder, 'curl.config');
    await writeFile(list, downloads(job).join('\n'));
    await run('curl', ['--parallel', '--parallel-max', String(job.concurrency), '--fail', '--silent', '--show-error', '--config', list]);
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    await connection.run(job.sql);
    connection.closeSync();
    instance.closeSync();
    return job.counts.leads ?? 0;
  });
}

function downloads({ baseUrl, limit, folder, counts }: Job): readonly string[] {
  return Object.entries(counts).flatMap(([name, rows]) =>
    Array.from({ length: Math.ceil(rows / limit) }, (_, index) => {
      const url = `${baseUrl}/api/${name}?page=${index + 1}&limit=${limit}&rest_api_key=${key}`;
      return `url = "${url}"\noutput = "${join(folder, `${name}-${index + 1}.json`)}"`;
    }),
  );
}
