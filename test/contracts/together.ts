import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { tableFiles, tableRuns, TableSets, verifyTable } from '../../src/lake/index.js';
import { Pointer } from '../../src/lake/pointer.js';
import { CommitBarrier } from '../../src/lake/together.js';
import { loadPipelines } from '../../src/plan/index.js';
import { compactTable, rollbackTable, runPipeline } from '../../src/run/index.js';
import { parquetSink } from '../../src/sinks/parquet.js';
import { isRemote, jsonIn, sha256Text, Stores } from '../../src/store/index.js';
import { cli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { killedBefore } from '../support/killed.js';
import { pageOf } from '../support/pages.js';
import { bucket } from '../support/seaweedfs.js';
import { pipelineText, serviceOf } from '../support/services.js';
import { column, elsewhere, facts, recording } from '../support/sinks.js';
import { around } from '../support/stores.js';
import { temporaryFolder } from '../support/temporary.js';

interface Night {
  /** Ids of the rows of each collection. */
  readonly leads: readonly string[];
  readonly users: readonly string[];
  readonly users_expect?: string;
  readonly top?: string;
  readonly table?: 'plain' | 'iceberg' | 'delta';
  readonly mode?: string;
  /** The pipelines of the file. Default: both. */
  readonly of?: readonly ('leads' | 'users')[];
}

/** Two tables that the two pipelines of one file publish together. */
class Pair {
  private constructor(
    readonly path: string,
    readonly folder: string,
  ) {}

  static async new(place: string): Promise<Pair> {
    const folder = await temporaryFolder();
    return new Pair(place === 'S3' ? `s3://${bucket}/${randomUUID()}` : join(folder, 'night'), folder);
  }

  text({ users_expect = '{}', top = 'publish: together', table = 'plain', mode = 'replace', of = ['leads', 'users'] }: Partial<Night>) {
    const bodies = of.map(
      (from) =>
        `${top}\nfrom: ${from}\nsteps:\n  - dedupe: {}\nexpect: ${from === 'users' ? users_expect : '{}'}\n` +
        `rejects: { path: '${this.folder}/${from}.ndjson' }\nto:\n  - parquet: { path: '${this.path}/${from}', keep: 3, permissions: '0640', table: ${table}, mode: ${mode} }`,
    );
    return fileOf(bodies);
  }

  async pipelines(night: Night) {
    const from = await serviceOf({
      leads: night.leads.map((id) => ({ lead_id: id })),
      users: night.users.map((id) => ({ uid: id })),
    });
    const set = { 'service.retry.base': '1ms' };
    return loadPipelines({ text: this.text(night), file: 'p.yaml' }, { env: { ...process.env, ...from.env }, baseDir: this.folder, set });
  }

  /** @param given Of a program that runs night after night. */
  async run(night: Night, given?: TableSets) {
    const pipelines = await this.pipelines(night);
    const sets = given ?? new TableSets(pipelines);
    return Promise.allSettled(pipelines.map((each) => runPipeline(each, { sets, stateDir: join(this.folder, 'state') })));
  }

  async published(night: Night): Promise<void> {
    for (const ended of await this.run(night)) if (ended.status === 'rejected') throw ended.reason;
  }

  /** Brings a run of both tables to where only the commit remains. */
  async prepared(run: string, pointer: Pointer) {
    const all = [];
    const participant = { barrier: new CommitBarrier(pointer), signal: undefined };
    for (const table of pointer.tables) {
      const context = { ...recording(this.folder, run), participant, scratch: join(this.folder, run) };
      const writer = await elsewhere(parquetSink, { path: `${this.path}/${table}`, keep: 3, permissions: '0640' })(context);
      await writer.begin([column('uid')]);
      await writer.write(pageOf(1, [{ uid: run }]));
      all.push(await writer.prepare());
    }
    for (const each of all) await each.actions(facts);
    return all;
  }

  /** Gives the data files of this machine the names that earlier versions gave them. */
  async storedEarlier(): Promise<void> {
    const pointer = join(this.path, '_latest.json');
    let latest = await readFile(pointer, 'utf8');
    for (const path of (await this.keys()).map((key) => join(this.path, key))) {
      if (path.endsWith('.stored')) await rename(path, path.slice(0, -'.stored'.length));
      if (!path.includes('/runs/')) continue;
      const text = await readFile(path, 'utf8');
      const older = text.replaceAll('.parquet.stored', '.parquet');
      await writeFile(path, older);
      latest = latest.replaceAll(sha256Text(text), sha256Text(older));
    }
    await writeFile(pointer, latest);
    await rm(join(this.folder, 'state/runs.ndjson'));
  }

  async keys(): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const { key } of new Stores().at(this.path).list('')) keys.push(key);
    return keys.filter((key) => !key.endsWith('probe.json'));
  }

  /** Ids of the rows that readers see, as DuckDB reads the files. */
  async rows(table: 'leads' | 'users'): Promise<readonly string[]> {
    const shown = join(this.path, 'current');
    if (!isRemote(this.path)) return rowsOf(`${existsSync(shown) ? shown : this.path}/${table}/**/*.parquet`);
    const { files } = await tableFiles(`${this.path}/${table}`);
    const copies = await temporaryFolder();
    for (const [index, file] of files.entries())
      await new Stores().at(this.path).download(file.slice(this.path.length + 1), join(copies, `${index}.parquet`));
    return rowsOf(`${copies}/*.parquet`);
  }

  /** The night that a reader sees, and in which tables. */
  async moment(): Promise<string> {
    if (isRemote(this.path)) {
      const { bytes = '{}' } = (await new Stores().at(this.path).read('_latest.json')) ?? {};
      const { current } = jsonIn(bytes.toString()) as { current?: { id: number; tables: object } };
      return current ? `${current.id || ''}: ${Object.keys(current.tables).sort().join()}` : ': ';
    }
    const at = await realpath(join(this.path, 'current')).catch(() => undefined);
    if (at === undefined) return ': ';
    const both = [await rowsOf(`${at}/leads/**/*.parquet`), await rowsOf(`${at}/users/**/*.parquet`)];
    return `${[...new Set(both.flat().map((id) => id.charAt(0)))].join()}: ${both.map(({ length }) => (length === 2 ? 'leads' : 'users')).join()}`;
  }

  async both(): Promise<readonly (readonly string[])[]> {
    return [await this.rows('leads'), await this.rows('users')];
  }

  async check(): Promise<void> {
    for (const table of ['leads', 'users']) expect((await verifyTable(`${this.path}/${table}`)).differences).toEqual([]);
    expect((await this.keys()).filter((key) => /\/intents\/|\.tmp|\.link/.test(key))).toEqual([]);
    const shown = isRemote(this.path) ? [] : await readdir(join(this.path, 'current'), { recursive: true });
    for (const name of shown)
      expect((await stat(join(this.path, 'current', name))).mode & 0o777).toBe(name.endsWith('.parquet') ? 0o640 : 0o750);
    expect(await readdir(join(this.folder, 'state/scratch')).catch(() => [])).toEqual([]);
  }
}

/** A file with the pipelines p0, p1 and so on. */
function fileOf(bodies: readonly string[]): string {
  return bodies.map((body, index) => pipelineText(body).replace(/^name: .*/m, `name: p${index}`)).join('\n---\n');
}

async function rowsOf(files: string): Promise<readonly string[]> {
  const found = await duckdb(`SELECT COLUMNS('^(lead_id|uid)$') AS id FROM read_parquet('${files}')`);
  return found.map(({ id }) => String(id)).sort();
}

const night = (name: string, more: Partial<Night> = {}): Night => ({ leads: [`${name}1`, `${name}2`], users: [name], ...more });

/** What tables that are published together do in every place. */
export function togetherTests(place: 'S3' | 'this machine'): void {
  test('are compacted one by one, and go back together', async () => {
    const pair = await Pair.new(place);
    await pair.published(night('a'));
    await pair.published({ ...night('b'), mode: 'append' });
    const before = await pair.both();
    const at = { stateDir: join(pair.folder, 'state') };
    const { to } = await compactTable(`${pair.path}/leads`, at);
    expect((await tableFiles(`${pair.path}/leads`)).files).toHaveLength(1);
    expect(await pair.both()).toEqual(before);
    expect((await tableRuns(`${pair.path}/users`)).map(({ run }) => run)).not.toContain(to);
    await pair.check();
    expect(await rollbackTable(pair.path, at)).toMatchObject({ from: to });
    expect((await tableFiles(`${pair.path}/leads`)).files).toHaveLength(2);
    expect(await pair.both()).toEqual(before);
    await pair.published({ ...night('c'), mode: 'append' });
    await expect(compactTable(pair.path, at)).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await pair.check();
  });

  test('are merged into, also on a night that changes only one of them', async () => {
    const pair = await Pair.new(place);
    await pair.published(night('a'));
    await pair.published({ leads: ['a2', 'b1'], users: ['a'], mode: 'merge' });
    expect(await pair.both()).toEqual([['a1', 'a2', 'b1'], ['a']]);
    const before = await pair.keys();
    await pair.published({ leads: ['a1'], users: ['a'], mode: 'merge' });
    expect((await pair.keys()).filter((key) => !key.endsWith('/unchanged.json'))).toEqual(
      before.filter((key) => !key.endsWith('/unchanged.json')),
    );
    await pair.check();
    expect(await rollbackTable(pair.path, { stateDir: join(pair.folder, 'state') })).toMatchObject({ evidence: 'sha256' });
    expect(await pair.both()).toEqual([['a1', 'a2'], ['a']]);
    await pair.published({ leads: ['a1', 'c1'], users: ['c'], mode: 'merge' });
    expect(await pair.both()).toEqual([
      ['a1', 'a2', 'c1'],
      ['a', 'c'],
    ]);
    await pair.check();
  });

  test('appear at once, every night, for a reader that polls', async () => {
    const pair = await Pair.new(place);
    const seen = new Set<string>();
    let isOver = false;
    const polling = (async () => {
      while (!isOver) seen.add(await pair.moment());
    })();
    const nights = [...'123'];
    for (const name of nights) {
      await pair.published(night(name));
      expect(await pair.both()).toEqual([[`${name}1`, `${name}2`], [name]]);
      await pair.check();
    }
    isOver = true;
    await polling;
    expect([...seen]).toEqual([': ', ...nights.map((name) => `${name}: leads,users`)]);
  });

  test('are published night after night by a program that keeps its sets, also after one that failed', async () => {
    const pair = await Pair.new(place);
    const sets = new TableSets(await pair.pipelines(night('1')));
    for (const name of ['1', '2', 'refused', '3']) {
      const ended = await pair.run(name === 'refused' ? night('4', { users_expect: '{ min_rows: 10 }' }) : night(name), sets);
      expect([name, ...ended.map(({ status }) => status === 'fulfilled')]).toEqual([name, name !== 'refused', name !== 'refused']);
    }
    expect(await pair.both()).toEqual([['31', '32'], ['3']]);
    await pair.check();
  });

  test('are not published when one of their runs is stopped while it waits for the others', async () => {
    const pair = await Pair.new(place);
    await pair.published(night('1'));
    const pipelines = await pair.pipelines(night('2'));
    const sets = new TableSets(pipelines);
    const stop = new AbortController();
    const waiting = new Promise<void>((resolve) => (sets.held = resolve));
    const [leads, users] = pipelines.map((each, index) => async () => {
      const options = { sets, stateDir: join(pair.folder, 'state'), ...(index === 0 && { signal: stop.signal }) };
      return runPipeline(each, options).then(String, (failure: unknown) => failure);
    });
    const stopped = leads?.();
    await waiting;
    stop.abort();
    expect(await users?.()).toMatchObject({ code: 'E_RUN_TOGETHER' });
    expect(await stopped).toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(await pair.both()).toEqual([['11', '12'], ['1']]);
    await pair.published(night('3'));
    await pair.check();
  });

  test('stay as they are, all of them, when one is refused', async () => {
    const pair = await Pair.new(place);
    await pair.published(night('1'));
    const before = await pair.keys();
    const [leads, users] = await pair.run(night('2', { users_expect: '{ min_rows: 10 }' }));
    expect([leads, users]).toMatchObject([{ reason: { code: 'E_RUN_TOGETHER' } }, { reason: { code: 'E_GATE_EXPECT' } }]);
    expect(await pair.both()).toEqual([['11', '12'], ['1']]);
    expect(await pair.keys()).toEqual(before);
    await pair.published(night('3'));
    await pair.check();
  });

  test('keep the run of one that has not changed, and commit nothing if none has', async () => {
    const pair = await Pair.new(place);
    await pair.published(night('1'));
    const before = await pair.keys();
    await pair.published(night('1'));
    expect(await pair.keys()).toEqual(before);
    await pair.published(night('1', { leads: ['9'] }));
    expect(await pair.both()).toEqual([['9'], ['1']]);
    expect([await tableRuns(`${pair.path}/leads`), await tableRuns(`${pair.path}/users`)]).toMatchObject([[{}, {}], [{}]]);
    await pair.check();
  });

  test.each(['before', 'after'] as const)('are committed once when the reply is lost %s the commit was applied', async (when) => {
    const pair = await Pair.new(place);
    await pair.published(night('1'));
    let cuts = 0;
    const cutting = around(new Stores().at(pair.path), ['replace'], async (replace) => {
      cuts += 1;
      if (cuts > 1) return replace();
      if (when === 'after') await replace();
      throw new Error('the connection was cut');
    });
    const prepared = await pair.prepared('cut', new Pointer(cutting, ['leads', 'users']));
    for (const each of prepared) await each.commit?.(false);
    for (const each of prepared) await each.cleanup();
    expect(cuts).toBe(when === 'before' ? 2 : 1);
    expect(await pair.both()).toEqual([['cut'], ['cut']]);
    expect(await tableRuns(`${pair.path}/leads`)).toHaveLength(2);
    await pair.check();
  });

  test('are cleared of what a killed run left, and refuse its late commit', async () => {
    const pair = await Pair.new(place);
    await pair.published(night('1'));
    const prepared = await pair.prepared('killed', new Pointer(new Stores().at(pair.path), ['leads', 'users']));
    await pair.published(night('2'));
    expect((await pair.keys()).filter((key) => key.includes('killed'))).toEqual([]);
    for (const each of prepared) await expect(each.commit?.(false)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(await pair.both()).toEqual([['21', '22'], ['2']]);
    await pair.check();
  });

  test('go back together, and forward again', async () => {
    const pair = await Pair.new(place);
    for (const name of ['1', '2']) await pair.published(night(name));
    const [last] = await tableRuns(`${pair.path}/users`);
    const options = { stateDir: join(pair.folder, 'state') };
    await expect(rollbackTable(`${pair.path}/leads`, options)).rejects.toThrow(`leadstream rollback ${pair.path}`);
    await expect(rollbackTable(pair.path, { ...options, to: 'nothing' })).rejects.toMatchObject({ code: 'E_SINK_RUN' });
    expect(await rollbackTable(pair.path, options)).toMatchObject({ evidence: 'sha256' });
    expect(await pair.both()).toEqual([['11', '12'], ['1']]);
    await expect(rollbackTable(pair.path, options)).rejects.toMatchObject({ code: 'E_SINK_RUN' });
    await rollbackTable(pair.path, { ...options, to: last?.run ?? '' });
    expect(await pair.both()).toEqual([['21', '22'], ['2']]);
    await pair.check();
  });

  test('go back to before one of them joined, and forward, and are published again by either file', async () => {
    const pair = await Pair.new(place);
    const options = { stateDir: join(pair.folder, 'state') };
    const published = async () => [...(await pair.rows('leads')), ...(await pair.rows('users').catch(() => []))];
    await pair.published(night('1', { of: ['leads'] }));
    await pair.published(night('2'));
    const [joined] = await tableRuns(`${pair.path}/users`);
    for (const to of [undefined, joined?.run, undefined]) {
      await rollbackTable(pair.path, { ...options, to });
      expect(await published()).toEqual(to === undefined ? ['11', '12'] : ['21', '22', '2']);
    }
    await expect(tableFiles(`${pair.path}/users`)).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await pair.published(night('3', { mode: 'append' }));
    expect(await published()).toEqual(['11', '12', '31', '32', '3']);
    await rollbackTable(pair.path, options);
    await pair.published(night('4', { of: ['leads'] }));
    await pair.published(night('5'));
    await pair.check();
  });

  test('may be read from one list, by the command, and by a program that runs their pipelines at once', async () => {
    const pair = await Pair.new(place);
    const from = await serviceOf({ leads: [{ lead_id: 'a', bridge_id: 'b' }], bridges: [{ id: 'b', title: 't' }] });
    const steps = 'from: leads\nsteps:\n  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }';
    const text = fileOf(
      [steps, 'from: bridges', 'from: leads'].map(
        (body, index) => `publish: together\n${body}\nto:\n  - parquet: { path: '${pair.path}/t${index}' }`,
      ),
    );
    await writeFile(join(pair.folder, 'p.yaml'), text);
    const env = { ...process.env, ...from.env };
    expect(await cli(['run', 'p.yaml'], { cwd: pair.folder, env: env as never })).toMatchObject({ code: 0 });
    const pipelines = await loadPipelines({ text, file: 'p.yaml' }, { env, baseDir: pair.folder });
    const sets = new TableSets(pipelines);
    await Promise.all(pipelines.map((each) => runPipeline(each, { sets })));
    for (const table of ['t0', 't1', 't2']) expect(await verifyTable(`${pair.path}/${table}`)).toMatchObject({ rows: 1, differences: [] });
  });

  test('are refused when what says which run is current is an older one, until that is accepted', async () => {
    const pair = await Pair.new(place);
    const [store, options] = [new Stores().at(pair.path), { stateDir: join(pair.folder, 'state') }];
    await pair.published(night('1'));
    const older = (await store.read('_latest.json'))?.bytes.toString() ?? '';
    await pair.published(night('2'));
    await store.put('_latest.json', older);
    await expect(pair.published(night('3'))).rejects.toMatchObject({ code: expect.stringMatching(/E_GATE_VERIFY|E_RUN_TOGETHER/) });
    await rollbackTable(pair.path, { ...options, to: 'CURRENT' });
    await pair.published(night('3'));
    expect(await pair.both()).toEqual([['31', '32'], ['3']]);
    await pair.check();
  });

  test('are not mixed with tables of their own, nor with those of another file', async () => {
    const pair = await Pair.new(place);
    const alone = await Pair.new(place);
    await alone.published(night('1', { top: '' }));
    await pair.published(night('1'));
    const results = await alone.run(night('2'));
    for (const table of ['plain', 'iceberg', 'delta'] as const) results.push(...(await pair.run(night('2', { top: '', table }))));
    expect(results.map((each) => each.status === 'rejected' && each.reason)).toMatchObject(
      Array.from(results, () => ({ code: expect.stringMatching(/E_SINK_FOREIGN|E_RUN_TOGETHER/) })),
    );
    const other = new Pointer(new Stores().at(pair.path), ['leads']);
    await expect(other.read()).rejects.toThrow('has the table users, which is published together');
    expect([await pair.both(), await alone.both()]).toEqual(Array.from({ length: 2 }, () => [['11', '12'], ['1']]));
  });

  test('are published by the command, which needs all of their pipelines', async () => {
    const pair = await Pair.new(place);
    await writeFile(join(pair.folder, 'p.yaml'), pair.text({}));
    const from = await serviceOf({ leads: [{ lead_id: 'a' }], users: [{ uid: 'b' }] });
    const run = (...more: string[]) => cli(['run', 'p.yaml', ...more], { cwd: pair.folder, env: { ...process.env, ...from.env } as never });
    expect(await run('--only', 'p1')).toMatchObject({ code: 2, stderr: expect.stringContaining('run all of them') });
    expect(await run()).toMatchObject({ code: 0, stderr: expect.stringMatching(/published: p0, p1\n$|published: p1, p0\n$/) });
    expect(await pair.both()).toEqual([['a'], ['b']]);
    await writeFile(join(pair.folder, 'p.yaml'), pair.text({ users_expect: '{ min_rows: 2 }' }));
    expect(await run()).toMatchObject({ code: 65, stderr: expect.stringMatching(/\nfailed: p0, p1\n$/) });
    await pair.check();
  });
}

/** And on this machine, in the files that readers see. */
export function togetherHereTests(): void {
  test('are read whole by a glob through their link, and by none next to it', async () => {
    const pair = await Pair.new('this machine');
    for (const name of '12') await pair.published(night(name));
    await pair.published(night('3', { mode: 'append' }));
    for (const files of ['leads/*', 'leads/**/*'])
      expect(await rowsOf(`${pair.path}/current/${files}.parquet`)).toEqual(['21', '22', '31', '32']);
    for (const files of ['leads/*', 'leads/**/*', '**/leads/*', '../**/leads/*'])
      await expect(rowsOf(`${pair.path}/${files}.parquet`)).rejects.toThrow('read-through-current.parquet');
    const { files } = await tableFiles(`${pair.path}/leads`);
    expect((await Promise.all(files.map(rowsOf))).flat().sort()).toEqual(['21', '22', '31', '32']);
  });

  test('go on from what earlier versions stored, whose data files end in .parquet', async () => {
    const pair = await Pair.new('this machine');
    for (const name of '12') await pair.published(night(name));
    await pair.storedEarlier();
    await pair.check();
    const options = { stateDir: join(pair.folder, 'state') };
    expect(await rollbackTable(pair.path, options)).toMatchObject({ evidence: 'sha256' });
    await pair.published(night('3', { mode: 'append' }));
    await compactTable(`${pair.path}/leads`, options);
    expect((await pair.both()).flat()).toEqual(['11', '12', '31', '32', '1', '3']);
    await pair.check();
    await pair.published(night('1', { leads: ['11', '12', '31', '32'] }));
    expect((await tableFiles(`${pair.path}/users`)).files).toEqual([expect.stringMatching(/\.stored$/)]);
    await pair.check();
  });

  test('are tested one by one', async () => {
    const cwd = await temporaryFolder();
    const tests = '\ntests:\n  - { name: t, given: { leads: [{ lead_id: a }] }, expect: { files: { n/t0: { rows: [{ lead_id: a }] } } } }';
    const bodies = [tests, ''].map((more, index) => `publish: together\nfrom: leads\nto:\n  - parquet: { path: n/t${index} }${more}`);
    await writeFile(join(cwd, 'p.yaml'), fileOf(bodies));
    expect(await cli(['test', 'p.yaml'], { cwd })).toMatchObject({ code: 0 });
  });

  test('are seen in folders that stay as long as the pointer keeps what it replaced', async () => {
    const pair = await Pair.new('this machine');
    for (const name of '12345') await pair.published(night(name));
    const first = await realpath(join(pair.path, 'current')).then((path) => path.replace(/5-[^/]+$/, ''));
    expect(await readdir(first)).toHaveLength(5);
    const pointer = join(pair.path, '_latest.json');
    await writeFile(pointer, (await readFile(pointer, 'utf8')).replaceAll(/(?<="replaced_at": ")\d{4}/g, '2001'));
    const mine = join(first, 'mine');
    await mkdir(mine);
    await writeFile(join(mine, 'part-00000-x.parquet'), '');
    await pair.published(night('6'));
    expect([await readdir(first), await readdir(mine)]).toMatchObject([{ length: 5 }, { length: 1 }]);
    await rm(mine, { recursive: true });
    await pair.check();
  });

  test('are published, with a warning, when they cannot be shown after that, and shown by the next run', async () => {
    const pair = await Pair.new('this machine');
    await pair.published(night('1'));
    const pipelines = await pair.pipelines(night('2'));
    const sets = new TableSets(pipelines);
    const link = join(pair.path, 'current');
    sets.held = () => {
      rmSync(link);
      writeFileSync(link, 'of another program');
    };
    const reports = await Promise.all(pipelines.map((each) => runPipeline(each, { sets, stateDir: join(pair.folder, 'state') })));
    expect(reports.flatMap(({ warnings }) => warnings.map(({ code }) => code))).toEqual([
      'W_SOURCE_FIELD_GONE',
      'W_SINK_VIEW',
      'W_SOURCE_FIELD_GONE',
      'W_SINK_VIEW',
    ]);
    await rm(link);
    await pair.published(night('3', { mode: 'append' }));
    expect(await pair.both()).toEqual([
      ['21', '22', '31', '32'],
      ['2', '3'],
    ]);
    await pair.check();
  });

  test('publish nothing while something else is in the place of their link, which no other table takes', async () => {
    const pair = await Pair.new('this machine');
    const foreign = join(pair.path, 'current');
    await mkdir(foreign, { recursive: true });
    await writeFile(join(foreign, 'mine'), '');
    const [one, other] = await pair.run(night('1'));
    expect([one, other]).toMatchObject([{ reason: { code: 'E_SINK_FOREIGN' } }, { reason: { code: 'E_SINK_FOREIGN' } }]);
    expect(await pair.keys()).toEqual(['current/mine']);
    await rm(foreign, { recursive: true });
    await pair.published(night('1'));
    const own = elsewhere(parquetSink, { path: foreign })(recording(pair.folder));
    await expect(own).rejects.toMatchObject({ code: 'E_SINK_FOREIGN', message: expect.stringContaining('published together') });
    expect(await pair.moment()).toBe('1: leads,users');
  });

  test.each([
    ['csv: { path: s3://lake/n/leads.csv }', 'publish: together needs parquet with table: plain'],
    ['parquet: { path: s3://lake/n/leads, table: delta }', 'publish: together needs parquet with table: plain'],
    ['stdout: {}', 'publish: together needs parquet with table: plain'],
    ['parquet: { path: s3://lake/n/current }', 'p.yaml:21:14 publish: together needs a name other than current'],
    ['parquet: { path: lake/n/leads }', 'directly below one folder, like s3://lake/n'],
    ["parquet: { path: 's3://lake/{{ run.date }}/leads' }", 'publish: together needs a fixed path'],
    ['parquet: { path: s3://lake/other/leads }', 'directly below one folder, like s3://lake/n'],
    ['parquet: { path: s3://lake/n/leads }\nstore: { region: x }', 'in one store'],
  ])('are refused where they cannot be published together: %s', async (sink, message) => {
    const { env } = await serviceOf({});
    const text = fileOf(['parquet: { path: s3://lake/n/users }', sink].map((to) => `publish: together\nfrom: leads\nto:\n  - ${to}`));
    await expect(loadPipelines({ text, file: 'p.yaml' }, { env })).rejects.toThrow(message);
  });
}

/** And with a process that is killed many times. */
export function togetherKilledTests(): void {
  test('are shown by the next run or rollback if a run is killed before every fifth change of the files that readers see', async () => {
    const from = await serviceOf({ leads: [{ lead_id: '21' }, { lead_id: '22' }], users: [{ uid: '2' }] });
    for (let nth = 1, isKilled = true; isKilled; nth += 5) {
      const pair = await Pair.new('this machine');
      await pair.published(night('1'));
      await writeFile(join(pair.folder, 'p.yaml'), pair.text({}));
      const below = join(pair.path, '.current.runs/2-');
      isKilled = await killedBefore(nth, ['run', 'p.yaml', '--state-dir', 'state'], { cwd: pair.folder, env: from.env, below });
      expect(nth === 1 ? ['1: leads,users'] : isKilled ? ['1: leads,users', '2: leads,users'] : ['2: leads,users']).toContain(
        await pair.moment(),
      );
      if (nth % 2 === 1) {
        await rollbackTable(pair.path, { stateDir: join(pair.folder, 'state') });
        expect(await pair.moment()).toBe('1: leads,users');
      }
      await pair.published(night('3'));
      expect(await pair.moment()).toBe('3: leads,users');
      await pair.check();
    }
  });
}
