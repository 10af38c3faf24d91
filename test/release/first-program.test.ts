import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startService, generate, type RunningService } from '../../src/service/index.js';
import { start } from '../support/cli.js';
import { installed } from '../support/installed.js';

const key = 'key-of-the-test';

/** As a reader wrote it who had the package, its README and its types. */
const program = `
import { cast, connect, filter, join } from 'leadstream';

await using service = connect({ baseUrl: process.env['URL']!, auth: { rest_api_key: '${key}' }, limit: 500 });
const accepted = service.leads.pipe(
  cast({ lead_accepted: 'flag' }),
  filter((lead) => lead.lead_accepted === true),
  join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
);
const counts = new Map<string, number>();
for await (const { campaign_id, bridge_title } of accepted) {
  const group = campaign_id + ' ' + bridge_title;
  counts.set(group, (counts.get(group) ?? 0) + 1);
}
console.log(JSON.stringify(Object.fromEntries(counts)));
`;

/** What the compiler refuses, without exactOptionalPropertyTypes, too. */
const refused = `
import { cast, connect, filter, join, mask, rename } from 'leadstream';

const { leads, bridges } = connect({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: '${key}' } });
const nothing: 'drop' | undefined = Math.random() > 2 ? 'drop' : undefined;
leads.pipe(cast({ age: undefined }));
leads.pipe(mask({ email: nothing }));
leads.pipe(rename({ lead_id: undefined }));
leads.pipe(filter((lead) => lead.lead_accepted));
leads.pipe(join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['titel'] }));
leads.pipe(join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'], minMatch: 0.95 }));
leads.pipe(join(bridges.with({ fields: ['id', 'title'] }), { on: { bridge_id: 'id' }, as: 'bridge', select: ['id', 'title'] }));
const id: 'id' | undefined = Math.random() > 2 ? 'id' : undefined;
leads.pipe(join(bridges, { on: { bridge_id: id }, as: 'b', select: ['title'] }));
leads.pipe(join(bridges, { on: { bridge_id: 'id', campaign_name: id }, as: 'b', select: ['title'] }));
`;

const settings = {
  compilerOptions: {
    ...{ strict: true, module: 'nodenext', target: 'es2022', lib: ['es2022', 'esnext.disposable'], skipLibCheck: false, types: ['node'] },
    ...{ outDir: 'out' },
  },
  include: ['sold.mts'],
};

let folder = '';
let service: RunningService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadstream-'));
  await installed(folder);
  service = await startService({
    source: generate({ leads: 1_017, bridges: 30 }),
    accounts: [{ uid: '7', key: 'pair-of-the-test', restApiKey: key }],
  });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

async function compiled(text: string): Promise<{ readonly code: number | null; readonly stdout: string }> {
  await writeFile(join(folder, 'sold.mts'), text);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  return start(process.execPath, [join(process.cwd(), 'node_modules/typescript/bin/tsc'), '--pretty', 'false'], { cwd: folder }).finished;
}

/** All records of a list, without leadstream. */
async function records(collection: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const all: Record<string, string>[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await fetch(`${service.url}/api/${collection}?rest_api_key=${key}&page=${page}&limit=100`);
    const text = await answer.text();
    const found: unknown = text === '' || answer.status === 404 ? [] : JSON.parse(text);
    const rows = Array.isArray(found) ? found : Object.values(found as object).find(Array.isArray);
    if (rows === undefined || rows.length === 0) return all;
    all.push(...rows);
  }
}

test('a first program compiles, and counts what somebody else counts', async () => {
  expect(await compiled(program)).toMatchObject({ code: 0, stdout: '' });
  const { code, stdout, stderr } = await start(process.execPath, [join(folder, 'out', 'sold.mjs')], {
    cwd: folder,
    env: { URL: service.url },
  }).finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const titles = new Map((await records('bridges')).map(({ id, title }) => [id, title]));
  const counts: Record<string, number> = {};
  for (const lead of await records('leads')) {
    if (!/^(?:yes|y|true|1)$/i.test(lead['LEAD ACCEPTED'] ?? '')) continue;
    const group = `${lead['campaign_id']} ${titles.get(lead['bridge_id'] ?? '') ?? null}`;
    counts[group] = (counts[group] ?? 0) + 1;
  }
  expect(Object.keys(counts).length).toBeGreaterThan(3);
  expect(JSON.parse(stdout)).toEqual(counts);
});

test('what would be wrong in silence does not compile', async () => {
  const { stdout } = await compiled(refused);
  const lines = refused.split('\n');
  const told = new Set(Array.from(stdout.matchAll(/sold\.mts\((\d+),/g), ([, line]) => lines[Number(line) - 1]));
  // The field that is misspelled, and nothing that only follows from it.
  expect(stdout).toMatch(/TS2820: Type '"titel"' is not assignable .* Did you mean '"title"'/);
  expect(stdout).not.toContain("to type 'never'.\n  ");
  expect([...told]).toEqual(lines.filter((line) => line.startsWith('leads.pipe')));
});
