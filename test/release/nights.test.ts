import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sha256File } from '../../src/store/index.js';
import { publishedManifest, verifyTable } from '../../src/lake/index.js';
import { cli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { leads } from '../support/pipelines.js';
import { pipelineText, serviceOf } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

type Fields = Readonly<Record<string, unknown>>;

const usual = (id: number): Fields => ({ age: String(20 + (id % 50)), timestamp: '1706659200' });

let cwd: string;
let table: string;

/** One night: what the service has by then, and how the pipeline is changed for it. */
async function run(records: readonly Fields[], ...parameters: string[]) {
  const from = await serviceOf({ leads: records });
  return cli(['run', 'p.yaml', ...parameters], { cwd, env: from.env });
}

/** Everything that readers of the table can see: its run, and the digests of its files. */
async function seen(): Promise<unknown> {
  const manifest = await publishedManifest(table);
  const digests = await Promise.all((manifest?.files ?? []).map(({ name }) => sha256File(join(table, name))));
  return { run: manifest?.run_id, digests, rejects: await readFile(`${table}.rejects.ndjson`, 'utf8').catch(() => undefined) };
}

/** Where the first night was, which all tests go on from. */
let firstNight: string;
beforeAll(async () => {
  firstNight = await mkdtemp(join(tmpdir(), 'leadstream-night-'));
  const body = 'from: leads\nexpect: { max_shrink: 20% }\nto:\n  - parquet: { path: lake/leads }';
  await writeFile(join(firstNight, 'p.yaml'), pipelineText(body));
  cwd = firstNight;
  expect(await run(leads(1_000, usual))).toMatchObject({ code: 0 });
});
afterAll(() => rm(firstNight, { recursive: true }));

beforeEach(async () => {
  cwd = await temporaryFolder();
  table = join(cwd, 'lake/leads');
  await cp(firstNight, cwd, { recursive: true, verbatimSymlinks: true });
});

describe('a night with 30 % fewer rows', () => {
  test('ends with 65 and both counts, and leaves the table as it was', async () => {
    const before = await seen();
    const { code, stderr } = await run(leads(700, usual));
    expect(code).toBe(65);
    expect(stderr).toContain('E_GATE_EXPECT');
    expect(stderr).toContain('expect.max_shrink');
    expect(stderr).toContain('found 700 rows, previously 1,000 (30% smaller)');
    expect(await seen()).toEqual(before);
    expect((await verifyTable(table)).differences).toEqual([]);
  });

  test('is kept for inspection when asked, where no glob finds it', async () => {
    const { code, stderr } = await run(leads(700, usual), '--keep-failed');
    expect(code).toBe(65);
    const [, kept = ''] = /Kept for inspection: (\S+)\.\n/.exec(stderr) ?? [];
    expect(await duckdb(`select count(*)::int as rows from read_parquet('${kept}/*.partial')`)).toEqual([{ rows: 700 }]);
    expect(await duckdb(`select count(*)::int as rows from '${cwd}/lake/**/*.parquet'`)).toEqual([{ rows: 1_000 }]);
    expect(await run(leads(1_100, usual))).toMatchObject({ code: 0 });
    expect(await duckdb(`select count(*)::int as rows from read_parquet('${kept}/*.partial')`)).toEqual([{ rows: 700 }]);
  });
});

describe('a night with 2 % bad casts', () => {
  const bad = leads(1_000, (id) => ({ ...usual(id), ...(id % 50 === 0 && { age: 'forty-two' }) }));

  test('ends with 65, tells the share and the file of the rejects, and leaves the table as it was', async () => {
    const before = (await seen()) as { run: string; digests: unknown };
    const { code, stderr } = await run(bad);
    expect({ code, stderr }).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('20 of 1,000 rows were rejected, but at most 1% may be'),
    });
    expect(await seen()).toMatchObject({ run: before.run, digests: before.digests });
    const rejects = (await readFile(`${table}.rejects.ndjson`, 'utf8')).trimEnd().split('\n');
    expect(rejects).toHaveLength(20);
    expect(JSON.parse(rejects[0] ?? '')).toMatchObject({ key: { lead_id: '0' }, field: 'age', reason: 'is not a 64-bit integer' });
    expect(rejects.join('')).not.toContain('forty-two');
  });
});
