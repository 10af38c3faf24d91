import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { start, startCli } from '../support/cli.js';
import { compose } from '../support/compose.js';
import { duckdb } from '../support/duckdb.js';
import { testKey } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

test('serves until its check of health is content, and exports from that', async () => {
  const { services } = await compose();
  const root = await temporaryFolder();
  const place = (text: string) => text.replace(/^\/data/, root).replace(/^\/etc\/leadstream/, join(process.cwd(), 'pipelines'));
  const filled = (text: string) => text.replace(/^\$\{LEADSTREAM_REST_API_KEY:\?[^}]+\}$/, testKey);
  // Of many leads, a few are enough; the port is a free one.
  const words = services.service.command.map((word) => (word === '8080' ? '0' : word === '20000' ? '200' : word));
  const served = startCli(words, {
    cwd: root,
    env: { LEADSTREAM_REST_API_KEY: filled(services.service.environment['LEADSTREAM_REST_API_KEY'] ?? '') },
  });
  try {
    const [line] = (await once(served.process.stdout ?? served.process, 'data')) as [string];
    const { port } = new URL(line.trim());
    const [how, ...check] = services.service.healthcheck?.test ?? [];
    expect(how).toBe('CMD');
    const health = (at: string) =>
      start(
        check[0] ?? '',
        check.slice(1).map((word) => word.replace(':8080', `:${at}`)),
        { cwd: root },
      ).finished;
    expect(await health(port)).toMatchObject({ code: 0 });
    expect(await health('1')).toMatchObject({ code: 1 });
    const variables = Object.entries(services.export.environment).map(([name, value]) => [name, place(filled(value))]);
    const env = { ...Object.fromEntries(variables), LEADSTREAM_BASE_URL: `http://127.0.0.1:${port}` } as Record<string, string>;
    expect(services.export.environment['LEADSTREAM_BASE_URL']).toBe('http://service:8080');
    const done = await startCli(services.export.command.map(place), { cwd: root, env }).finished;
    expect(done).toMatchObject({ code: 0 });
    expect(await duckdb(`select count(*)::int as rows from '${root}/lake/leads/**/*.parquet'`)).toEqual([{ rows: 200 }]);
    expect(await readFile(join(root, 'leadstream.prom'), 'utf8')).toContain('leadstream_exit_code 0\n');
    expect(JSON.parse(await readFile(join(root, 'report.json'), 'utf8'))).toMatchObject({ status: 'published' });
  } finally {
    served.process.kill();
    await served.finished;
  }
});
