import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFiles, verifyTable } from '../../src/lake/index.js';
import { storeTable } from '../../src/lake/formats.js';
import { Stores } from '../../src/store/index.js';
import { changing } from '../support/changing.js';
import { cli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { killedBefore } from '../support/killed.js';
import { leads, pipelineText, service, serviceOf } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

describe.each(['iceberg', 'delta'] as const)('a table of this machine (%s)', (kind) => {
  test('has the rows before or after a run that is killed before every fourth change of a file, and after the next run nothing of it', async () => {
    const [cwd, from] = [await temporaryFolder(), await serviceOf({ leads: leads(3) })];
    const path = join(cwd, 'lake', 't');
    const pipeline = (mark: string) =>
      writeFile(
        join(cwd, 'p.yaml'),
        pipelineText(`from: leads
steps:
  - select: [lead_id]
  - derive: { mark: "'${mark}'" }
to:
  - parquet: { path: lake/t, table: ${kind}, keep: 0, partition_by: [mark] }`),
      );
    const marks = async () => {
      const version = await storeTable(new Stores().at(path), kind).format.load();
      const files = (version?.files ?? []).map(({ name }) => `'${join(path, name)}'`);
      if (files.length === 0) return { mark: '', runs: [] };
      const [found] = await duckdb(
        `SELECT count(*) AS n, min(mark) AS a, max(mark) AS z FROM read_parquet([${files.join()}], hive_partitioning = true)`,
      );
      expect(found).toMatchObject({ n: '3', a: found?.['z'] });
      return { mark: String(found?.['a']), runs: version?.runs ?? [] };
    };
    let before = '';
    for (let nth = 1, isKilled = true; isKilled; nth += 4) {
      const mark = `killed-${nth}`;
      await pipeline(mark);
      isKilled = await killedBefore(nth, ['run', 'p.yaml'], { cwd, env: from.env, below: path });
      const seen = await marks();
      expect([nth, isKilled ? [before, mark] : [mark]]).toEqual([nth, expect.arrayContaining([seen.mark])]);
      before = `next-${nth}`;
      await pipeline(before);
      const next = await cli(['run', 'p.yaml'], { cwd, env: from.env });
      expect([nth, next.code, next.stderr]).toEqual([nth, 0, next.stderr]);
      const now = await marks();
      expect([nth, now.mark]).toEqual([nth, before]);
      expect([nth, (await verifyTable(path)).differences]).toEqual([nth, []]);
      const names = await readdir(path, { recursive: true, withFileTypes: true });
      const files = names.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name).slice(path.length + 1));
      // The draft of a small text stays, which nobody lists; and what a run committed, until a later one expires it.
      const committed = [...now.runs, ...seen.runs];
      expect([
        nth,
        files.filter(
          (name) => /intents|\/\d{8}T\d+Z-/.test(name) && !/intents.*\.tmp$/.test(name) && !committed.some((each) => name.includes(each)),
        ),
      ]).toEqual([nth, []]);
    }
  }, 600_000);
});

describe.each(['plain', 'iceberg', 'delta'] as const)('a table of this machine that is compacted (%s)', (kind) => {
  test('has the same rows, whatever change of a file a kill precedes, and goes on', async () => {
    const cwd = await temporaryFolder();
    const text = `from: leads\nexpect: { max_read_shrink: 100% }\nto:\n  - parquet: { path: lake/t, table: ${kind}, mode: append, partition_by: [zipcode] }`;
    await writeFile(join(cwd, 'p.yaml'), pipelineText(text));
    const ids: string[] = [];
    const night = async () => {
      ids.push(String(ids.length + 100));
      const from = await serviceOf({ leads: ['0', '1'].map((zipcode) => ({ lead_id: `${ids.at(-1)}-${zipcode}`, zipcode })) });
      const { code, stderr } = await cli(['run', 'p.yaml'], { cwd, env: from.env });
      expect([code, stderr]).toEqual([0, stderr]);
    };
    const check = async (nth: number) => {
      const { files } = await tableFiles(join(cwd, 'lake/t'));
      const found = await duckdb(`SELECT lead_id FROM read_parquet([${files.map((file) => `'${file}'`).join()}]) ORDER BY 1`);
      expect([nth, found.map(({ lead_id: id }) => id)]).toEqual([nth, ids.flatMap((id) => [`${id}-0`, `${id}-1`])]);
      return files.length;
    };
    for (let count = 0; count < 3; count += 1) await night();
    for (let nth = 1, isKilled = true; isKilled; nth += 7) {
      isKilled = await killedBefore(nth, ['compact', 'lake/t'], { cwd, env: {}, below: join(cwd, 'lake') });
      await check(nth);
      await night();
      await check(nth);
      expect([nth, (await verifyTable(join(cwd, 'lake/t'))).differences]).toEqual([nth, []]);
    }
    expect(await check(0)).toBe(4);
  }, 600_000);
});

const merging = ['plain', 'iceberg', 'delta'].flatMap((kind) => [false, true].map((history) => [kind, history] as const));

describe.each(merging)('a table of this machine that is merged into (%s, history: %s)', (kind, history) => {
  test('has the rows before or after, whatever change of a file a kill precedes, and the next night finishes', async () => {
    const cwd = await temporaryFolder();
    const deleting = `mode: merge, history: ${history}, on_missing: delete, max_deleted: 60%, partition_by: [zipcode]`;
    const text = `from: leads\nto:\n  - parquet: { path: lake/t, table: ${kind}, ${deleting} }`;
    await writeFile(join(cwd, 'p.yaml'), pipelineText(text));
    const lists = { leads: [] as readonly Record<string, string>[] };
    const from = await service(changing(lists));
    const run = () => cli(['run', 'p.yaml'], { cwd, env: from.env });
    const seen = async () => {
      const { files: all } = await tableFiles(join(cwd, 'lake/t'));
      const files = all.filter((file) => !file.includes('is_current=false/'));
      const found = await duckdb(
        `SELECT lead_id, lead_status FROM read_parquet([${files.map((file) => `'${file}'`).join()}], hive_partitioning = true)`,
      );
      return found.map(({ lead_id: id, lead_status: status }) => `${String(id)} ${String(status)}`).sort();
    };
    const shown = () => lists.leads.map(({ lead_id: id, lead_status: status }) => `${id} ${status}`).sort();
    // Each night one row comes, one goes, and one changes.
    const night = (nth: number) =>
      Array.from({ length: 5 }, (_, index) => ({
        lead_id: String(nth + index),
        zipcode: String((nth + index) % 2),
        lead_status: index === 2 ? `in ${nth}` : 'old',
      }));
    lists.leads = night(0);
    expect((await run()).code).toBe(0);
    for (let nth = 1, isKilled = true; isKilled; nth += 3) {
      const before = await seen();
      lists.leads = night(nth);
      isKilled = await killedBefore(nth, ['run', 'p.yaml'], { cwd, env: from.env, below: join(cwd, 'lake') });
      expect([nth, [before, shown()]]).toEqual([nth, expect.arrayContaining([await seen()])]);
      lists.leads = night(nth + 1);
      const next = await run();
      expect([nth, next.code, next.stderr]).toEqual([nth, 0, next.stderr]);
      expect([nth, await seen()]).toEqual([nth, shown()]);
      expect([nth, (await verifyTable(join(cwd, 'lake/t'))).differences]).toEqual([nth, []]);
      // Otherwise each night has more files to link than the one before.
      if (history) expect((await cli(['compact', 'lake/t'], { cwd, env: from.env })).code).toBe(0);
    }
  }, 600_000);
});
