import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli, startCli } from '../support/cli.js';
import { byCursor, byLink, byOffset, flaky, orders, ownEnv, ownServer, ownText } from '../support/odd-server.js';
import { temporaryFolder } from '../support/temporary.js';
import { until } from '../support/until.js';

const rows = orders(600);
const moments = [0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1];

const schemes = {
  cursor: { serve: byCursor, declared: '    rows: /data/items\n    paging: { scheme: cursor, next: /paging/next, param: cursor }' },
  link: { serve: byLink, declared: '    paging: { scheme: link }' },
  offset: { serve: byOffset, declared: '    rows: /items\n    paging: { scheme: offset, param: skip, limit: top }' },
} as const;

async function digestOf(folder: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(join(folder, 'orders.ndjson')))
    .digest('hex');
}

describe.each(Object.entries(schemes))('a run of the command over a list by %s that is killed', (_, { serve, declared }) => {
  const text = ownText(`    path: /orders\n    key: [no]\n    undeclared: drop\n${declared}`);

  test.each(moments)('after %f of its requests goes on, and publishes what an undisturbed one does', async (part) => {
    const undisturbed = await temporaryFolder();
    const folder = await temporaryFolder();
    for (const cwd of [undisturbed, folder]) await writeFile(join(cwd, 'p.yaml'), text);
    const asked: { readonly url: string; readonly probe: boolean; readonly failed: boolean }[] = [];
    const handler = flaky(serve(rows));
    const server = await ownServer((response, url, attempt, request) => {
      response.on('close', () => {
        const failed = response.statusCode !== 200 || !response.writableFinished;
        asked.push({ url: url.href, probe: request.headers['x-leadstream-purpose'] === 'probe', failed });
      });
      handler(response, url, attempt, request);
    });
    const parameters = ['run', 'p.yaml', '--report', 'report.json'];
    const env = ownEnv(server);
    expect(await cli(parameters, { cwd: undisturbed, env })).toMatchObject({ code: 0 });
    const whole = asked.splice(0).length;

    const { process: child, finished } = startCli(parameters, { cwd: folder, env });
    await until(() => asked.length >= Math.floor(whole * part) || child.exitCode !== null);
    child.kill('SIGKILL');
    await finished;
    asked.length = 0;
    const { code, stderr } = await cli(parameters, { cwd: folder, env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await digestOf(folder)).toBe(await digestOf(undisturbed));
    const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as { resumed: number; read: number };
    expect(report).toMatchObject({ read: 600 });
    // Of 60 pages, those that the killed run had are asked for only to be checked; offsets are asked for ahead, beyond the end, too.
    const pages = new Set(asked.filter(({ probe, failed }) => !probe && !failed).map(({ url }) => url));
    expect(pages.size).toBeLessThanOrEqual(60 + 4 - report.resumed);
    if (part === 0.6) expect(report.resumed).toBeGreaterThan(20);
  });
});
