import { describe, expect, test } from '@jest/globals';
import {
  appendFile,
  chmod,
  cp,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Row } from '../../../src/core/index.js';
import type { Warning } from '../../../src/core/errors.js';
import { sha256File } from '../../../src/store/index.js';
import { rollbackTable } from '../../../src/run/index.js';
import { parquet, type ParquetOptions } from '../../../src/sinks/index.js';
import { tableRuns, RunLog, verifyTable } from '../../../src/lake/index.js';
import { publishedManifest } from '../../support/parquet-files.js';
import { duckdb } from '../../support/duckdb.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const columns = [column('id', 'text', { source: 'id' }), column('day', 'date')];
const rowsOf = (day: string, ...ids: string[]): Row[] => ids.map((id) => ({ id, day }));
const keeping: readonly Partial<ParquetOptions>[] = [{ mode: 'append' }, { mode: 'replace_partitions', partition_by: ['day'] }];

function run(base: string, runId: string, options: Partial<ParquetOptions>, rows: readonly Row[], warnings?: Warning[]) {
  const runLog = new RunLog(join(base, 'state'));
  const context = { ...recording(base, runId), key: ['id'], runLog, warn: (warning: Warning) => void warnings?.push(warning) };
  return writeAll(parquet({ path: 't', ...options }, context), columns, rows);
}

/** A folder with a table of one run, with two rows. */
async function begun(options: Partial<ParquetOptions>): Promise<string> {
  const base = await temporaryFolder();
  await run(base, 'run-1', options, rowsOf('20240101', 'a', 'b'));
  return base;
}

const idsIn = async (base: string): Promise<readonly unknown[]> =>
  (await duckdb(`SELECT id FROM read_parquet('${base}/**/*.parquet') ORDER BY id`)).map((row) => Object.values(row)[0]);

/** Removes the folder in which readers see the part of a run that a path leads to. */
function removeView(part: string): Promise<void> {
  const [root = '', of = ''] = part.split('/data/');
  return rm(join(root, of.split('/')[0] ?? ''), { recursive: true });
}

/** The path of the first part of a run. */
async function partOf(base: string, runId: string): Promise<string> {
  const folder = join(base, '.t.runs/data', runId);
  const [name = ''] = (await filesBelow(folder)).filter((one) => one.endsWith('.stored'));
  return join(folder, name);
}

describe.each<[string, (path: string) => Promise<unknown>]>([
  ['removed', (path) => rm(path)],
  ['renamed', (path) => rename(path, `${path}.bak`)],
  ['an empty folder', async (path) => [await rm(path), await mkdir(path)]],
])('a table whose link is %s', (_what, lose) => {
  test.each(keeping)('is not begun anew by %j, and its runs stay', async (options) => {
    const base = await begun(options);
    await run(base, 'run-2', options, rowsOf('20240102', 'c'));
    await lose(join(base, 't'));
    const before = await filesBelow(base);
    await expect(run(base, 'run-3', options, rowsOf('20240103', 'd'))).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: expect.stringMatching(/run-1, run-2\); .* leadstream rollback .*\/t --to RUN, or remove .*\/\.t\.runs to start a new table/),
    });
    expect(await filesBelow(base)).toEqual(before);
  });

  test('gets it back by a rollback, and goes on', async () => {
    const base = await temporaryFolder();
    const path = join(base, 't');
    const stateDir = join(base, 'state');
    await run(base, 'run-1', { mode: 'append' }, rowsOf('20240101', 'a'));
    await run(base, 'run-2', { mode: 'append' }, rowsOf('20240102', 'b'));
    await lose(path);
    expect((await tableRuns(path)).map(({ run: id, state }) => `${id} ${state}`)).toEqual(['run-2 unfinished', 'run-1 kept']);
    await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: `${path} is no longer a link to a run; name the run with --to: run-2, run-1`,
    });
    expect(await rollbackTable(path, { stateDir, to: 'run-1' })).toEqual({ from: undefined, to: 'run-1', evidence: 'sha256' });
    expect(await idsIn(base)).toEqual(['a']);
    expect(await rollbackTable(path, { stateDir, to: 'run-2' })).toEqual({ from: 'run-1', to: 'run-2', evidence: 'sha256' });
    await run(base, 'run-3', { mode: 'append' }, rowsOf('20240103', 'c'));
    expect(await idsIn(join(base, 't'))).toEqual(['a', 'b', 'c']);
    expect(await verifyTable(path, { stateDir })).toMatchObject({ differences: [] });
  });

  test('is made anew by replace, which says so and keeps the run that was published', async () => {
    const base = await temporaryFolder();
    const warnings: Warning[] = [];
    await run(base, 'run-1', {}, rowsOf('20240101', 'a'));
    await lose(join(base, 't'));
    await run(base, 'run-2', {}, rowsOf('20240102', 'b'), warnings);
    expect(warnings).toEqual([{ code: 'W_SINK_LINK', message: expect.stringContaining('is no longer a link to a run') }]);
    expect(await publishedManifest(join(base, 't'))).toMatchObject({ run_id: 'run-2', replaced: 'run-1' });
    expect((await tableRuns(join(base, 't'))).map(({ run: id, state }) => `${id} ${state}`)).toEqual(['run-2 published', 'run-1 kept']);
    expect(await idsIn(join(base, 't'))).toEqual(['b']);
  });
});

describe.each<Partial<ParquetOptions>>([...keeping, {}])(
  'a table whose link is an older one, as in a restored backup, with %j',
  (options) => {
    test('is refused, until that is accepted', async () => {
      const [base, backup] = [await temporaryFolder(), join(await temporaryFolder(), 'backup')];
      const [path, stateDir] = [join(base, 't'), join(base, 'state')];
      await run(base, 'run-1', options, rowsOf('20240101', 'a'));
      await cp(base, backup, { recursive: true, verbatimSymlinks: true });
      await run(base, 'run-2', options, rowsOf('20240102', 'b'));
      await rm(path);
      await cp(backup, base, { recursive: true, verbatimSymlinks: true, filter: (from) => !from.endsWith('runs.ndjson') });
      const refusal = /run run-2 was published after run run-1, .* --to CURRENT/;
      const next = () => run(base, 'run-3', options, rowsOf('20240103', 'c'));
      await expect(next()).rejects.toMatchObject({ code: 'E_GATE_VERIFY', message: expect.stringMatching(refusal) });
      expect((await verifyTable(path)).differences).toContainEqual(expect.stringMatching(refusal));
      expect(await rollbackTable(path, { stateDir, to: 'CURRENT' })).toMatchObject({ from: 'run-1', to: 'run-1' });
      await next();
      expect(await idsIn(path)).toEqual(options.mode ? ['a', 'c'] : ['c']);
      expect((await verifyTable(path, { stateDir })).differences).toEqual([]);
    });
  },
);

test.each([
  ['an earlier', 'run-1', ['a', 'b']],
  ['a later', 'run-2', ['a', 'b', 'c']],
])('a link that was set to %s run alone shows its rows once it is accepted', async (_which, to, ids) => {
  const base = await begun({ mode: 'append' });
  const [path, stateDir] = [join(base, 't'), join(base, 'state')];
  await run(base, 'run-2', { mode: 'append' }, rowsOf('20240102', 'c'));
  if (to === 'run-2') await rollbackTable(path, { stateDir });
  await rm(path);
  await symlink(`.t.runs/${to}`, path);
  expect(await rollbackTable(path, { stateDir, to: 'CURRENT' })).toMatchObject({ from: to, to });
  expect(await idsIn(base)).toEqual(ids);
  await run(base, 'run-3', { mode: 'append' }, rowsOf('20240103', 'd'));
  expect(await idsIn(base)).toEqual([...ids, 'd']);
});

test('a folder of runs in which no run was published is that of a new table', async () => {
  const base = await temporaryFolder();
  for (const folder of ['data/run-0', '_leadstream/intents']) await mkdir(join(base, '.t.runs', folder), { recursive: true });
  await writeFile(join(base, '.t.runs/data/run-0/part-00000.parquet.stored'), 'cut');
  await writeFile(join(base, '.t.runs/_leadstream/intents/run-0.json'), '{"version":1,"run":"run-0","base":-1,"started_at":""}');
  await run(base, 'run-1', { mode: 'append' }, rowsOf('20240101', 'a'));
  expect(await readdir(join(base, '.t.runs/data'))).toEqual(['run-1']);
});

describe.each(keeping)('a table that is not what its run wrote, with %j', (options) => {
  const next = (base: string) => run(base, 'run-2', options, rowsOf('20240102', 'c'));

  /** Other data in the place of a part, and a manifest that says so. */
  async function forge(base: string): Promise<void> {
    const other = await temporaryFolder();
    await run(other, 'run-1', options, rowsOf('20240101', 'x', 'y'));
    await rm(join(base, '.t.runs'), { recursive: true });
    await rename(join(other, '.t.runs'), join(base, '.t.runs'));
  }

  async function refused(base: string, fault: RegExp): Promise<void> {
    const before = await readlink(join(base, 't'));
    const log = await readFile(join(base, 'state/runs.ndjson'));
    await expect(next(base)).rejects.toMatchObject({ code: 'E_GATE_VERIFY', message: expect.stringMatching(fault) });
    expect(await readlink(join(base, 't'))).toBe(before);
    expect(await readFile(join(base, 'state/runs.ndjson'))).toEqual(log);
  }

  test('is not vouched for by the next run', async () => {
    const base = await begun(options);
    await forge(base);
    await refused(base, /the manifest of run run-1 is not the one that the run wrote .*; see leadstream verify$/);
  });

  test('is not vouched for when a run was put beside those that the log knows', async () => {
    const base = await begun(options);
    const log = join(base, 'state/runs.ndjson');
    await writeFile(log, (await readFile(log, 'utf8')).replace('"run":"run-1"', '"run":"run-0"'));
    await refused(base, /run run-1 is not in the log of runs/);
  });

  test.each<[string, (part: string) => Promise<unknown>, RegExp]>([
    ['is gone for readers, too', (part) => Promise.all([rm(part), removeView(part)]), /cannot be read: .*ENOENT/],
    ['is shorter', async (part) => truncate(part, (await stat(part)).size - 1), /has [\d,]+ bytes, but its manifest says [\d,]+/],
    ['is longer', (part) => appendFile(part, 'x'), /has [\d,]+ bytes, but its manifest says [\d,]+/],
    ['is no Parquet', async (part) => writeFile(part, Buffer.alloc((await stat(part)).size)), /is not a Parquet file/],
    ['is a folder', async (part) => [await rm(part), await mkdir(part)], /is not a regular file/],
  ])('is not taken over when a part %s', async (_what, damage, fault) => {
    const base = await begun(options);
    await damage(await partOf(base, 'run-1'));
    await refused(base, fault);
  });

  test('has a part stored again that only readers still had', async () => {
    const base = await begun(options);
    await rm(join(base, '.t.runs/data'), { recursive: true });
    await next(base);
    expect(await idsIn(base)).toEqual(['a', 'b', 'c']);
    expect((await verifyTable(join(base, 't'))).differences).toEqual([]);
  });

  test('is taken at its word where the log does not know the table', async () => {
    const base = await begun(options);
    await rm(join(base, 'state/runs.ndjson'));
    await next(base);
    expect(await idsIn(join(base, 't'))).toEqual(['a', 'b', 'c']);
    const found = await verifyTable(join(base, 't'), { stateDir: join(base, 'state') });
    expect(found).toMatchObject({ differences: [], evidence: 'sha256' });
  });
});

test('a partition that is replaced may be damaged', async () => {
  const base = await temporaryFolder();
  const options = { mode: 'replace_partitions', partition_by: ['day'] } as const;
  await run(base, 'run-1', options, rowsOf('20240101', 'a'));
  await truncate(await partOf(base, 'run-1'), 3);
  await run(base, 'run-2', options, rowsOf('20240101', 'b'));
  expect(await idsIn(join(base, 't'))).toEqual(['b']);
});

describe('a part with a name outside of the runs', () => {
  test.each(keeping)('keeps its permissions, with %j', async (options) => {
    const base = await temporaryFolder();
    await run(base, 'run-1', options, rowsOf('20240101', 'a'));
    const part = await partOf(base, 'run-1');
    await link(part, join(base, 'elsewhere'));
    await run(base, 'run-2', { ...options, permissions: '0644' }, rowsOf('20240102', 'b'));
    expect((await stat(join(base, 'elsewhere'))).mode & 0o777).toBe(0o600);
    const parts = (await filesBelow(join(base, '.t.runs/run-2'))).filter((name) => name.endsWith('.parquet'));
    const modes = await Promise.all(parts.map(async (name) => (await stat(join(base, '.t.runs/run-2', name))).mode & 0o777));
    expect(modes).toEqual([0o644, 0o644]);
    expect(await idsIn(join(base, 't'))).toEqual(['a', 'b']);
  });

  test('that is another file of that size is not taken over, and not changed', async () => {
    const base = await temporaryFolder();
    await run(base, 'run-1', { mode: 'append' }, rowsOf('20240101', 'a'));
    const part = await partOf(base, 'run-1');
    const mine = join(base, 'mine');
    const bytes = await readFile(part);
    bytes[10] = (bytes[10] ?? 0) ^ 1;
    await writeFile(mine, bytes);
    await chmod(mine, 0o600);
    await rm(part);
    await link(mine, part);
    const before = await sha256File(mine);
    const again = run(base, 'run-2', { mode: 'append', permissions: '0644' }, rowsOf('20240102', 'b'));
    await expect(again).rejects.toMatchObject({ code: 'E_SINK_VERIFY', message: expect.stringContaining('SHA-256') });
    expect([await sha256File(mine), (await stat(mine)).mode & 0o777]).toEqual([before, 0o600]);
  });
});
