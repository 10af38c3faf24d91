import { describe, expect, test } from '@jest/globals';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFiles, verifyTable } from '../../../src/lake/index.js';
import { runPipeline, type RunReport } from '../../../src/run/index.js';
import { committed, openCommit, openShard, planShards, type OpenedPart } from '../../../src/shards/index.js';
import { changing, type Lists } from '../../support/changing.js';
import { duckdb } from '../../support/duckdb.js';
import type { Misbehaviour } from '../../support/misbehaviour.js';
import { lead, leads, type LoggedService, pipelineFor, service } from '../../support/services.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const kinds = ['plain', 'iceberg', 'delta'] as const;

const toTable = (kind: string, more = '') => `from: leads\nto:\n  - parquet: { path: out/table, table: ${kind}${more} }`;

async function ran(opened: OpenedPart, stateDir: string): Promise<RunReport> {
  try {
    return await runPipeline(opened.pipeline, { part: opened.part, stateDir });
  } finally {
    await opened.close();
  }
}

/** Processes that share a run of one pipeline, each with a state folder of its own. */
class Machines {
  place = '';
  #states = 0;

  constructor(
    readonly from: LoggedService,
    readonly lists: Lists,
    readonly folder: string,
    readonly body: string,
  ) {}

  static async of(lists: Lists, body: string, options: Partial<Misbehaviour> = {}): Promise<Machines> {
    return new Machines(await service(changing(lists), options), lists, await temporaryFolder(), body);
  }

  pipeline(set: Readonly<Record<string, string>> = {}, env: Readonly<Record<string, string>> = {}) {
    return pipelineFor({ env: { ...this.from.env, ...env } }, this.body, this.folder, { 'service.limit': '10', ...set });
  }

  get stateDir(): string {
    this.#states += 1;
    return join(this.folder, `state-${this.#states}`);
  }

  async plan(shards: number) {
    const plan = await planShards(await this.pipeline(), { shards, work: 'work', stateDir: this.stateDir });
    this.place = plan.folder;
    return plan;
  }

  async shard(index: number, pipeline = this.pipeline()): Promise<RunReport | undefined> {
    const { stateDir } = this;
    const opened = await openShard(await pipeline, this.place, index, { stateDir });
    if (!opened) return undefined;
    return ran(opened, stateDir);
  }

  async shards(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) await this.shard(index);
  }

  async commit(pipeline = this.pipeline()): Promise<RunReport> {
    const { stateDir } = this;
    const opened = await openCommit(await pipeline, this.place, { stateDir });
    return ran(opened, stateDir);
  }

  /** Runs the pipeline in one process, to another folder. */
  async alone(): Promise<Machines> {
    const other = new Machines(this.from, this.lists, await temporaryFolder(), this.body);
    Object.assign(other, { report: await runPipeline(await other.pipeline(), { stateDir: other.stateDir }) });
    return other;
  }

  async rows(columns = '*', table = 'out/table'): Promise<readonly unknown[]> {
    const { files } = await tableFiles(join(this.folder, table));
    const paths = files.map((path) => `'${path}'`).join();
    return duckdb(`SELECT ${columns} FROM read_parquet([${paths}], union_by_name = true, hive_partitioning = true) ORDER BY ALL`);
  }

  async ids(): Promise<readonly number[]> {
    const rows = (await this.rows('lead_id')) as readonly { readonly lead_id: string }[];
    return rows.map(({ lead_id: id }) => Number(id)).sort((a, b) => a - b);
  }

  /** Data files, of which no table has any others. */
  async data(): Promise<number> {
    return (await filesBelow(join(this.folder, 'out'))).filter((path) => /data\/.*\.parquet/.test(path)).length;
  }
}

const idsOf = (list: readonly Readonly<Record<string, unknown>>[]) => list.map(({ lead_id: id }) => Number(id)).sort((a, b) => a - b);

const moved = expect.objectContaining({ code: 'E_SHARD_MOVED', exit: 75 });

describe('a run of several processes', () => {
  test.each(kinds.flatMap((kind) => [1, 2, 5].map((count) => [kind, count] as const)))(
    'publishes a table (%s) with the rows and books of one process by %d shards',
    async (kind, count) => {
      const list = leads(137, (index) => ({
        bridge_id: String(index % 3),
        zipcode: index % 9 === 0 ? '' : '02139',
        age: index % 20 === 7 ? 'x' : '4',
      }));
      const bridges = [0, 1].map((id) => ({ id: String(id), title: `b${id}`, user_id: '1' }));
      const steps = [
        'on_error: reject',
        'rejects: { max: 100% }',
        'expect: { max_null: { zipcode: 50% }, accepted_values: { lead_status: [sold] } }',
        'steps:',
        '  - dedupe: {}',
        '  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title], type: inner }',
        '  - filter: "lead_id != \'11\'"',
        '  - cast: { types: { age: integer } }',
      ];
      const outputs = [
        `  - parquet: { path: out/table, table: ${kind}, partition_by: [bridge_id] }`,
        `  - parquet: { path: out/some, table: ${kind}, where: "bridge_title == 'b1'" }`,
      ];
      const machines = await Machines.of({ leads: list, bridges }, ['from: leads', ...steps, 'to:', ...outputs].join('\n'));
      await machines.plan(count);
      await machines.shards(count);
      const report = await machines.commit();
      const alone = await machines.alone();
      const { report: other } = alone as unknown as { readonly report: RunReport };
      expect(report.sinks.map(({ books }) => books)).toEqual(other.sinks.map(({ books }) => books));
      expect([report.pages, report.read, report.rejects.rows]).toEqual([other.pages, other.read, other.rejects.rows]);
      await verifyTable(join(machines.folder, 'out/table'));
      expect(await machines.rows()).toEqual(await alone.rows());
      expect(await machines.rows('*', 'out/some')).toEqual(await alone.rows('*', 'out/some'));
      const rejects = async ({ folder }: Machines) => (await readFile(join(folder, 'out/table.rejects.ndjson'), 'utf8')).split('\n').sort();
      expect(await rejects(machines)).toEqual(await rejects(alone));
    },
  );

  test('writes the values of masks that one process writes', async () => {
    const body = `from: leads\nsteps:\n  - mask: { lead_status: hmac }\n${toTable('plain').slice('from: leads\n'.length)}`;
    const machines = await Machines.of({ leads: leads(64) }, body);
    machines.pipeline = (set) =>
      pipelineFor({ env: { ...machines.from.env, LEADSTREAM_HMAC_KEY: 'a key of masks that is long' } }, body, machines.folder, {
        'service.limit': '10',
        ...set,
      });
    await machines.plan(3);
    await machines.shards(3);
    await machines.commit();
    expect(new Set((await machines.rows('lead_status')).map((row) => JSON.stringify(row))).size).toBe(1);
  });

  test('replaces the partitions that it has, and keeps the others', async () => {
    const lists: Lists = { leads: leads(40, () => ({ yearmonthday: '20240101' })) };
    const machines = await Machines.of(lists, toTable('delta', ', mode: replace_partitions, partition_by: [yearmonthday]'));
    await runPipeline(await machines.pipeline(), { stateDir: machines.stateDir });
    lists.leads = leads(80, (index) => ({ lead_id: String(1000 + index), yearmonthday: '20240102' }));
    await machines.plan(2);
    await machines.shards(2);
    await machines.commit();
    expect(await machines.ids()).toEqual([...idsOf(leads(40)), ...lists.leads.map((_, index) => 1000 + index)]);
  });

  test('reads rows that are appended while it runs', async () => {
    const lists: Lists = { leads: leads(95) };
    const machines = await Machines.of(lists, toTable('iceberg'));
    await machines.plan(3);
    for (const index of [2, 0, 1]) {
      await machines.shard(index);
      lists.leads = [...(lists.leads ?? []), ...Array.from({ length: 13 }, (_, row) => lead(1000 + index * 100 + row))];
    }
    await machines.commit();
    expect(await machines.ids()).toEqual(idsOf(lists.leads ?? []));
  });

  test('reads each row once if some are inserted before the first one, or move there, between shards', async () => {
    const list = leads(95);
    const lists: Lists = { leads: list };
    const machines = await Machines.of(lists, toTable('plain'));
    await machines.plan(3);
    for (const index of [0, 1, 2]) {
      await machines.shard(index);
      const [read, unread] = [lead(index * 28), lead(80 + index)];
      const others = (lists.leads ?? []).filter(({ lead_id: id }) => id !== read.lead_id && id !== unread.lead_id);
      lists.leads = [lead(2000 + index), read, unread, ...others];
    }
    await machines.commit();
    expect(await machines.ids()).toEqual(idsOf(lists.leads ?? []));
  });

  test('publishes nothing if a row comes to the front while it commits, and another was read by nobody', async () => {
    const list = leads(95);
    const lists: Lists = { leads: list };
    let isCommitting = false;
    const onRequest: Misbehaviour['onRequest'] = ({ page, limit }) => {
      if (isCommitting && page === 10 && limit === 10)
        lists.leads = [lead(3000), ...list.slice(0, 15), lead(65), ...list.slice(15, 65), ...list.slice(66)];
    };
    const machines = await Machines.of(lists, toTable('plain'), { onRequest });
    await machines.plan(2);
    await machines.shard(0);
    lists.leads = [...list.slice(0, 15), lead(65), ...list.slice(15, 65), ...list.slice(66)];
    await machines.shard(1);
    isCommitting = true;
    await expect(machines.commit()).rejects.toEqual(moved);
  });

  test('publishes nothing if a row is deleted while a shard reads, and another is read by nobody', async () => {
    const list = leads(1003);
    const lists: Lists = { leads: list };
    const onRequest: Misbehaviour['onRequest'] = ({ page, limit }) => {
      if (page === 24 && limit === 10) lists.leads = list.filter((_, index) => index !== 225);
    };
    const machines = await Machines.of(lists, toTable('plain'), { onRequest });
    await machines.plan(2);
    lists.leads = list;
    await machines.shards(2);
    await expect(machines.commit()).rejects.toEqual(moved);
  });

  const changes: Readonly<Record<string, (list: readonly ReturnType<typeof lead>[]) => readonly ReturnType<typeof lead>[]>> = {
    'a row that was read is deleted': (list) => list.filter((_, index) => index !== 3),
    'a row is inserted before one that was read': (list) => [...list.slice(0, 15), lead(3000), ...list.slice(15)],
    'more than a page is inserted at its beginning': (list) => [...Array.from({ length: 25 }, (_, row) => lead(4000 + row)), ...list],
    'a row moves from what was not read to what was read': (list) => {
      const [row, ...others] = [list[80] ?? lead(0), ...list.filter((_, index) => index !== 80)];
      return [...others.slice(0, 14), row, ...others.slice(14)];
    },
    'a row is replaced by one that was read': (list) => list.map((row, index) => (index === 70 ? (list[2] ?? row) : row)),
    'a row that was read changes places with one that was not': (list) =>
      list.map((row, index) => (index === 15 ? (list[65] ?? row) : index === 65 ? (list[15] ?? row) : row)),
    'its order is reversed': (list) => list.toReversed(),
  };

  test.each(Object.keys(changes))('publishes nothing if %s between shards', async (what) => {
    const lists: Lists = { leads: leads(95) };
    const machines = await Machines.of(lists, toTable('plain'));
    await machines.plan(2);
    await machines.shard(0);
    lists.leads = changes[what]?.(leads(95)) ?? [];
    const shard = await machines.shard(1).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    if (shard === undefined) await expect(machines.commit()).rejects.toEqual(moved);
    else expect(shard).toEqual(moved);
    await expect(tableFiles(join(machines.folder, 'out/table'))).rejects.toThrow('not a leadstream table');
  });

  test('publishes nothing if rows between two shards are read by neither, although the numbers agree', async () => {
    const list = leads(95);
    const lists: Lists = { leads: list };
    const machines = await Machines.of(lists, toTable('plain'));
    await machines.plan(2);
    await machines.shard(0);
    const appended = Array.from({ length: 30 }, (_, row) => lead(1000 + row));
    lists.leads = [...list.slice(0, 3), ...list.slice(33), ...appended];
    await machines.shard(1);
    lists.leads = [...list.slice(0, 3), ...Array.from({ length: 20 }, (_, row) => lead(2000 + row)), ...list.slice(33), ...appended];
    await expect(machines.commit()).rejects.toThrow('shards 0 and 1 have no row in common');
  });

  test.each(kinds)('publishes nothing if a file of a shard is gone (%s)', async (kind) => {
    const machines = await Machines.of({ leads: leads(95) }, toTable(kind));
    const { run } = await machines.plan(2);
    await machines.shards(2);
    const [file = ''] = (await filesBelow(machines.folder)).filter(
      (path) => path.includes(`data/${run}/`) && /\.parquet(\.stored)?$/.test(path),
    );
    await rm(join(machines.folder, file));
    await expect(machines.commit()).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
  });

  test('leaves a plan of another table alone', async () => {
    const machines = await Machines.of({ leads: leads(95) }, toTable('iceberg'));
    await machines.plan(2);
    await machines.shards(2);
    await machines.commit();
    const other = new Machines(machines.from, machines.lists, machines.folder, toTable('delta').replace('out/table', 'out/other'));
    await other.plan(2);
    await machines.plan(2);
    await other.shards(2);
    await other.commit();
  });

  test('waits for every shard', async () => {
    const machines = await Machines.of({ leads: leads(95) }, toTable('plain'));
    await machines.plan(3);
    await machines.shard(1);
    await expect(machines.commit()).rejects.toThrow('no result yet of shard 0, 2');
  });

  test('takes the first result of a shard, and leaves nothing of others', async () => {
    const machines = await Machines.of({ leads: leads(95) }, toTable('delta'));
    await machines.plan(2);
    const late = await openShard(await machines.pipeline(), machines.place, 0, { stateDir: machines.stateDir });
    await Promise.all([machines.shard(0), machines.shard(0), machines.shard(1), machines.shard(1)]);
    const stored = async () => [
      await filesBelow(join(machines.folder, 'out')),
      await filesBelow(machines.place),
      await readFile(join(machines.place, 'parts/0.json'), 'utf8'),
    ];
    const before = await stored();
    if (late) await ran(late, machines.stateDir);
    expect(await stored()).toEqual(before);
    expect(await machines.shard(1)).toBeUndefined();
    await machines.commit();
    expect(await machines.ids()).toEqual(idsOf(leads(95)));
    expect(await machines.data()).toBe(3);
  });

  test('removes what killed attempts left, and keeps what a late one finds', async () => {
    const machines = await Machines.of({ leads: leads(95) }, toTable('delta'));
    const { run } = await machines.plan(2);
    await machines.shards(2);
    const left = join(machines.folder, `out/table/data/${run}/part-123456789000000.parquet`);
    await writeFile(left, 'PAR1');
    await machines.commit();
    expect(await filesBelow(machines.folder)).not.toContain(left);
    expect(await machines.shard(0)).toBeUndefined();
    expect(await committed(await machines.pipeline(), machines.place)).toMatchObject({ read: 95 });
  });

  test('commits once, whoever is faster', async () => {
    const machines = await Machines.of({ leads: leads(95) }, toTable('iceberg'));
    await machines.plan(2);
    await machines.shards(2);
    const ends = await Promise.allSettled([machines.commit(), machines.commit()]);
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(machines.commit()).rejects.toThrow(/no result|committed/);
    expect(await machines.ids()).toEqual(idsOf(leads(95)));
  });

  test.each(kinds)('ends if another run published a table (%s) meanwhile', async (kind) => {
    const machines = await Machines.of({ leads: leads(95) }, toTable(kind));
    await machines.plan(2);
    await machines.shard(0);
    await runPipeline(await machines.pipeline(), { stateDir: machines.stateDir });
    const overtaken = expect.objectContaining({ code: 'E_SHARD_PLAN', exit: 78 });
    await expect(machines.shard(1)).rejects.toEqual(overtaken);
    expect(await machines.ids()).toEqual(idsOf(leads(95)));
    await machines.plan(2);
    await machines.shards(2);
    await runPipeline(await machines.pipeline(), { stateDir: machines.stateDir, allowShrink: true });
    if (kind === 'plain') await expect(machines.commit()).rejects.toEqual(overtaken);
    expect(await machines.data()).toBeLessThan(10);
  });

  test.each([
    ['file', { set: { 'service.concurrency': '2' } }, 'pipeline file'],
    ['account', { env: { LEADSTREAM_REST_API_KEY: 'another-key-of-the-service' } }, 'account'],
    ['key of masks', { env: { LEADSTREAM_HMAC_KEY: 'another key of masks' } }, 'LEADSTREAM_HMAC_KEY'],
  ])(
    'refuses another %s than that of the plan',
    async (_what, { set, env }: { set?: Record<string, string>; env?: Record<string, string> }, name) => {
      const machines = await Machines.of({ leads: leads(95) }, toTable('plain'));
      await machines.plan(2);
      await expect(machines.shard(0, machines.pipeline(set, env))).rejects.toThrow(`was planned with another ${name}`);
      await expect(machines.shard(9)).rejects.toThrow('has shards 0 to 1, and no 9');
    },
  );

  test.each([
    ['a step that needs all rows', 'from: leads\nsteps:\n  - sort: { by: [lead_id] }\nto:\n  - parquet: { path: out/t }'],
    ['a file of text', 'from: leads\nto:\n  - csv: { path: out/leads.csv }'],
    ['a merge', toTable('plain', ', mode: merge')],
    ['consistency: prove', `consistency: prove\n${toTable('plain')}`],
  ])('is refused for %s', async (_what, body) => {
    const machines = await Machines.of({ leads: leads(95) }, body);
    await expect(machines.plan(2)).rejects.toThrow('run it on one machine');
  });

  test('names undeclared fields as the plan did, wherever they first appear', async () => {
    const lists: Lists = { leads: leads(95, (index) => (index === 4 ? { first: 'a' } : index > 60 ? { later: 'b' } : {})) };
    const machines = await Machines.of(lists, toTable('plain'));
    await machines.plan(3);
    await machines.shards(3);
    const { findings } = await machines.commit();
    expect(findings.late).toEqual(['later']);
    expect(findings.unknown['later']).toBeGreaterThanOrEqual(34);
    const [row] = (await machines.rows('first')) as readonly { readonly first: string }[];
    expect(row).toEqual({ first: 'a' });
  });

  test('refuses a new field under strict, as one process does', async () => {
    const lists: Lists = { leads: leads(95) };
    const machines = await Machines.of(lists, toTable('delta'));
    await runPipeline(await machines.pipeline(), { stateDir: machines.stateDir });
    lists.leads = leads(95, () => ({ added: 'a' }));
    const strict = () => machines.pipeline({ 'service.strict': 'true' });
    const { folder } = await planShards(await strict(), { shards: 2, work: 'work', stateDir: machines.stateDir });
    machines.place = folder;
    for (const index of [0, 1]) await machines.shard(index, strict());
    await expect(machines.commit(strict())).rejects.toThrow('an undeclared field "added"');
  });
});
