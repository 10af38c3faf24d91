import { once } from 'node:events';
import { join } from 'node:path';
import { startExample } from '../support/examples.js';
import { duckdb } from '../support/duckdb.js';
import { listed, service } from '../support/services.js';
import { startCli, type Started } from '../support/cli.js';
import { temporaryFolder } from '../support/temporary.js';
import { generate } from '../../src/service/index.js';

test('first-thousand.mts prints a thousand joined leads and asks for no page that it does not need', async () => {
  const from = await service(generate({ leads: 50_000, seed: 7 }));
  const { finished } = await startExample('first-thousand.mts', from.env);
  const { code, stdout, stderr } = await finished;
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('1000 leads') });
  const lines = stdout.trim().split('\n');
  expect(lines).toHaveLength(1_000);
  expect(lines.every((line) => /^\d+\t.+$/.test(line))).toBe(true);
  const pages = from.requests.filter((request) => request.startsWith('leads?')).length;
  expect(pages).toBeLessThan(40);
});

test('campaign-counts.mts counts every lead once', async () => {
  const from = await service();
  const { code, stdout, stderr } = await (await startExample('campaign-counts.mts', from.env)).finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^(?:\d+ leads\n)*1200 leads\n$/) });
  const expected = new Map<string, number>();
  for (const { campaign_id: id = '' } of await listed(from, 'leads')) expected.set(id, (expected.get(id) ?? 0) + 1);
  const counted = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  expect(new Map(counted.map(([id = '', count]) => [id, Number(count)]))).toEqual(expected);
  expect(counted.map(([, count]) => Number(count))).toEqual([...expected.values()].toSorted((a, b) => b - a));
});

/** Returns the first line that a program prints, such as the address it listens on. */
async function firstLine({ process: child }: Started): Promise<string> {
  let text = '';
  while (!text.includes('\n')) {
    const [more] = (await once(child.stdout ?? child, 'data')) as [string];
    text += more;
  }
  return text.slice(0, text.indexOf('\n'));
}

describe('lead-server.mts', () => {
  test('streams joined leads, refuses what it does not know, and ends when it is told to', async () => {
    const from = await service();
    const server = await startExample('lead-server.mts', { ...from.env, PORT: '0' });
    const url = await firstLine(server);
    const [all, sold] = await Promise.all(['', '?status=sold'].map((query) => fetch(`${url}/leads${query}`)));
    expect(all?.headers.get('content-type')).toContain('application/x-ndjson');
    const rows = ((await all?.text()) ?? '')
      .trim()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    const bridges = new Map(
      (await listed(from, 'bridges')).map(({ id, title, niche }) => [id, { bridge_title: title, bridge_niche: niche }]),
    );
    const leads = await listed(from, 'leads');
    const expected = leads.map(({ lead_id, lead_status, bridge_id, campaign_name, timestamp }) => ({
      ...{ lead_id, lead_status, bridge_id, campaign_name, timestamp },
      ...bridges.get(bridge_id ?? ''),
    }));
    expect(rows).toEqual(expected);
    const statuses = ((await sold?.text()) ?? '')
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line).lead_status);
    expect(statuses).toHaveLength(leads.filter((lead) => lead['lead_status'] === 'sold').length);
    expect(new Set(statuses)).toEqual(new Set(['sold']));
    expect((await fetch(`${url}/leads?stauts=sold`)).status).toBe(400);
    expect((await fetch(`${url}/leads`, { method: 'HEAD' })).status).toBe(404);
    server.process.kill('SIGTERM');
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' });
  });

  test('answers with a status while there is no row, and cuts the answer when rows have gone out', async () => {
    const from = await service(undefined, {
      faults: ['401@collection=bridges,purpose=page,page=1,times=1', '400@collection=leads,page=2'],
    });
    const server = await startExample('lead-server.mts', { ...from.env, PORT: '0' });
    const url = await firstLine(server);
    const refused = await fetch(`${url}/leads`);
    expect([refused.status, await refused.json()]).toEqual([502, { code: 'E_SOURCE_AUTH' }]);
    const cut = await fetch(`${url}/leads`);
    expect(cut.status).toBe(200);
    await expect(cut.text()).rejects.toThrow('terminated');
    server.process.kill('SIGTERM');
    await server.finished;
  });
});

describe('custom-step-and-sink.mjs', () => {
  test('brings those of examples/custom-step-and-sink.mjs into the installed command', async () => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    const example = (ending: string) => join(process.cwd(), 'examples', `custom-step-and-sink.${ending}`);
    const { code, stderr } = await startCli(['run', example('yaml'), '--plugin', example('mjs')], { cwd, env: from.env }).finished;
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('to[0] ndjson_gz') });
    const [found] = await duckdb(
      `SELECT count(*)::INTEGER AS rows, count(DISTINCT lead_id)::INTEGER AS leads, count(e164)::INTEGER > 1000 AS most,
         bool_and(e164 IS NULL OR e164 = '+1' || right(regexp_replace(cell_phone, '\\D', '', 'g'), 10)) AS equal
       FROM read_json('${join(cwd, 'phones.ndjson.gz')}', format = 'newline_delimited')`,
    );
    expect(found).toEqual({ rows: 1_200, leads: 1_200, most: true, equal: true });
  });
});
