import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Diagnosis } from '../../../src/index.js';
import { cli } from '../../support/cli.js';
import { answer, json, withServer, type Handler } from '../../support/odd-server.js';
import { testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** Leads in pages of one size, whatever size is requested. */
function fixed(size: number, count: number): Handler {
  const leads = Array.from({ length: count }, (_, index) => ({ lead_id: String(index + 1) }));
  return (...asked) => {
    const [, { pathname, searchParams }] = asked;
    if (searchParams.get('rest_api_key') !== testKey) return answer(401, '{}')(...asked);
    const id = /leads\/(\d+)$/.exec(pathname)?.[1];
    if (id !== undefined) return json(leads.filter(({ lead_id }) => lead_id === id))(...asked);
    const page = Number(searchParams.get('page') ?? 1);
    json(page < 1 ? [] : leads.slice((page - 1) * size, page * size))(...asked);
  };
}

test.each([
  [600, 1_500, 500],
  [30, 100, 30],
])('doctor measures pages that have %i rows whatever is asked for, and its block makes a run exact', async (size, count, limit) => {
  await withServer(fixed(size, count), async ({ url }) => {
    const [cwd, env] = [await temporaryFolder(), { LEADSTREAM_BASE_URL: url, LEADSTREAM_REST_API_KEY: testKey }];
    const body = 'from: leads\nto: [{ ndjson: { path: leads.ndjson, columns: [lead_id] } }]\n';
    await writeFile(join(cwd, 'p.yaml'), `name: p\n${body}`);
    const { code, stdout } = await cli(['doctor', 'p.yaml', '--rate-limit', '1000', '--format', 'json'], { cwd, env });
    const { findings, block, requests }: Diagnosis = JSON.parse(stdout);
    const told = Object.fromEntries(findings.map(({ check, outcome, message }) => [check, `${outcome}: ${message}`]));
    expect({ code, ...told }).toMatchObject({
      code: 0,
      limit: `note: limit has no effect: a page has ${size} rows`,
      order: `ok: two pages of ${size} rows had the same order when read twice`,
      latency: expect.stringMatching(new RegExp(`^ok: median of \\d requests: limit=${size}: \\d+ ms$`)),
      concurrency: expect.stringMatching(/^ok: responses per second: .* 8 in flight: /),
    });
    expect(requests).toBeLessThan(60);
    expect(block).toContain(`  limit: ${limit}\n`);
    await writeFile(join(cwd, 'pasted.yaml'), `name: p\n${block}${body}`);
    expect(await cli(['run', 'pasted.yaml', '--set', 'service.end_wait=1ms'], { cwd, env })).toMatchObject({ code: 0 });
    const rows = (await readFile(join(cwd, 'leads.ndjson'), 'utf8')).trimEnd().split('\n');
    expect(new Set(rows).size).toBe(count);
  });
});
