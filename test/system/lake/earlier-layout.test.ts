import { describe, expect, test } from '@jest/globals';
import { appendFile, link, mkdir, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { rollbackTable } from '../../../src/run/index.js';
import { convert } from '../../../src/lake/earlier-layout.js';
import { RunLog, tableFiles, tableRuns, verifyTable } from '../../../src/lake/index.js';
import type { ParquetOptions } from '../../../src/sinks/index.js';
import { parquetSink } from '../../../src/sinks/parquet.js';
import { DiskObjects, runsFolderOf } from '../../../src/store/index.js';
import { duckdb } from '../../support/duckdb.js';
import { column, elsewhere, recording, writeAll } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

const columns = [column('id', 'text', { source: 'id' }), column('day')];
const options = { path: 't', mode: 'append', partition_by: ['day'], keep: 2 } as const;

function run(base: string, runId: string, id: string, more: Partial<ParquetOptions> = {}) {
  const context = { ...recording(base, runId), key: ['id'], runLog: new RunLog(join(base, 'state')) };
  return writeAll(elsewhere(parquetSink, { ...options, ...more })(context), columns, [{ id, day: id }]);
}

/** A table of three runs as an earlier version left it: each run has its files and those that it retained in a folder of its own, of kept ones hidden. */
async function earlier(): Promise<string> {
  const base = await temporaryFolder();
  const root = join(base, '.t.runs');
  for (const [index, id] of ['a', 'b', 'c'].entries()) await run(base, `run-${index + 1}`, id);
  for (const { run: runId, state, manifest } of await tableRuns(join(base, 't'))) {
    for (const { name } of manifest.files) {
      const [, day = '', writer = ''] = /^day=(\w)\/part-00000-(.*)\.parquet$/.exec(name) ?? [];
      const to = join(root, runId, state === 'kept' ? `${name}.kept` : name);
      await mkdir(dirname(to), { recursive: true });
      if (state === 'kept') await link(join(root, `data/${writer}/day=${day}/part-00000.parquet.stored`), to);
    }
    await rename(join(root, `_leadstream/runs/${runId}.json`), join(root, `${runId}.manifest.json`));
    await rename(join(root, `_leadstream/runs/${runId}.keys.bin`), join(root, `${runId}.keys.bin`));
  }
  for (const name of ['data', '_leadstream']) await rm(join(root, name), { recursive: true });
  return base;
}

const idsIn = async (base: string) =>
  (await duckdb(`SELECT id FROM read_parquet('${base}/**/*.parquet') ORDER BY id`)).map(({ id }) => String(id)).join('');

describe('a table of an earlier version', () => {
  test('is added to without a second copy of its data, keeps its runs and is vouched for by the log', async () => {
    const base = await earlier();
    const [path, stateDir] = [join(base, 't'), join(base, 'state')];
    const manifest = await readFile(join(base, '.t.runs/run-3.manifest.json'), 'utf8');
    const part = join(path, 'day=a/part-00000-run-1.parquet');
    const { ino } = await stat(part);
    await run(base, 'run-4', 'd');
    expect([await idsIn(base), await idsIn(path)]).toEqual(['abcd', 'abcd']);
    expect(await verifyTable(path, { stateDir })).toMatchObject({ differences: [], evidence: 'sha256' });
    expect(await verifyTable(path, { stateDir, run: 'run-3' })).toMatchObject({ differences: [], evidence: 'sha256' });
    expect(await readFile(join(base, '.t.runs/_leadstream/runs/run-3.json'), 'utf8')).toBe(manifest);
    expect((await tableRuns(path)).map(({ run: id, state }) => `${id} ${state}`)).toEqual(['run-4 published', 'run-3 kept', 'run-2 kept']);
    expect((await readdir(join(base, '.t.runs'))).sort()).toEqual(['_leadstream', 'data', 'run-4']);
    const { files } = await tableFiles(path);
    expect(files).toHaveLength(4);
    expect(await stat(part)).toMatchObject({ ino, nlink: 2 });
    for (const back of ['run-3', 'run-2']) {
      await rollbackTable(path, { stateDir });
      expect([back, await idsIn(base)]).toEqual([back, back === 'run-3' ? 'abc' : 'ab']);
    }
  });

  test('goes back to an earlier run at once', async () => {
    const base = await earlier();
    expect(await rollbackTable(join(base, 't'), { stateDir: join(base, 'state') })).toMatchObject({
      from: 'run-3',
      to: 'run-2',
      evidence: 'sha256',
    });
    expect(await idsIn(base)).toBe('ab');
  });

  test.each([tableRuns, verifyTable, tableFiles])('says what to do to those who only read it: %p', async (read) => {
    const base = await earlier();
    const before = await readdir(base, { recursive: true });
    await expect(read(join(base, 't'))).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: expect.stringContaining('run its pipeline once'),
    });
    expect(await readdir(base, { recursive: true })).toEqual(before);
  });

  test('is whole for readers and for the next run when the first one is killed', async () => {
    const base = await earlier();
    const root = runsFolderOf(join(base, 't'));
    const kill = new DiskObjects(root);
    for (let left = 0, isDead = true; isDead; left += 1) {
      let calls = left;
      kill.pathOf = (key) => ((calls -= 1) < 0 ? Promise.reject(new Error('dead')) : new DiskObjects(root).pathOf(key));
      isDead = await convert(kill, 'run-3').then(
        () => false,
        (thrown: unknown) => String(thrown) === 'Error: dead',
      );
      expect(await idsIn(base)).toBe('abc');
    }
    // What was removed last may be there yet.
    await link(join(root, '_leadstream/runs/run-1.json'), join(root, 'run-1.manifest.json'));
    await run(base, 'run-4', 'd');
    expect(await idsIn(base)).toBe('abcd');
    expect((await verifyTable(join(base, 't'))).differences).toEqual([]);
  });

  test.each(['run-2', 'run-3'])('loses nothing of %s, whose manifest cannot be read', async (damaged) => {
    const base = await earlier();
    const [path, stateDir] = [join(base, 't'), join(base, 'state')];
    const manifest = await readFile(join(base, `.t.runs/${damaged}.manifest.json`));
    await writeFile(join(base, `.t.runs/${damaged}.manifest.json`), manifest.subarray(0, manifest.length / 2));
    if (damaged === 'run-3') {
      await expect(run(base, 'run-4', 'd')).rejects.toMatchObject({ code: 'E_SINK_FOREIGN', message: expect.stringContaining('run-3') });
      await rollbackTable(path, { stateDir, to: 'run-2' });
      expect(await idsIn(base)).toBe('ab');
    }
    await run(base, 'run-4', 'd');
    expect(await idsIn(base)).toBe(damaged === 'run-3' ? 'abd' : 'abcd');
    for (const id of ['run-5', 'run-6']) await run(base, id, 'e', { mode: 'replace', keep: 0 });
    expect([await idsIn(base), (await tableRuns(path)).map(({ run: id }) => id)]).toEqual(['e', ['run-6']]);
    await expect(verifyTable(path, { run: damaged })).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: expect.stringContaining('no readable manifest'),
    });
    await writeFile(join(base, `.t.runs/_leadstream/runs/${damaged}.json`), manifest);
    expect(await rollbackTable(path, { stateDir, to: damaged })).toMatchObject({ evidence: 'sha256' });
    expect(await idsIn(base)).toBe(damaged === 'run-3' ? 'abc' : 'ab');
  });

  test('takes a manifest that is restored where it was', async () => {
    const base = await earlier();
    const manifest = join(base, '.t.runs/run-3.manifest.json');
    const whole = await readFile(manifest);
    await writeFile(manifest, whole.subarray(0, whole.length / 2));
    await expect(run(base, 'run-4', 'd')).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await writeFile(manifest, whole);
    await run(base, 'run-4', 'd');
    expect(await idsIn(base)).toBe('abcd');
  });

  const drafts = ['run-4/day=d/part-00000-run-4.parquet.partial', 'run-4/day=c/part-00000-run-3.parquet.partial'];
  const others = ['run-4/_SUCCESS.partial', 'run-4.keys.bin.partial', 'run-4.manifest.json.partial', 'run-4.link'];
  test.each<[string, readonly string[]]>([
    ['while it wrote', [drafts[0] ?? '']],
    ['when it had prepared its commit', [...drafts, ...others]],
    ['in its commit', [...[...drafts, 'run-4/_SUCCESS', 'run-4.keys.bin'].map((name) => name.replace('.partial', '')), ...others.slice(2)]],
  ])('loses what a run left that was killed %s, and its redo log with it, but only when its pipeline runs', async (_when, left) => {
    const base = await earlier();
    const root = join(base, '.t.runs');
    await mkdir(join(root, 'run-4/day=c'), { recursive: true });
    await mkdir(join(root, 'run-4/day=d'));
    for (const name of left)
      await (name.endsWith('.link')
        ? symlink('.t.runs/run-4', join(root, name))
        : link(join(root, 'run-3/day=c/part-00000-run-3.parquet'), join(root, name)));
    if (left.includes('run-4.link')) {
      const before = await readdir(base, { recursive: true });
      const returning = rollbackTable(join(base, 't'), { stateDir: join(base, 'state') });
      await expect(returning).rejects.toMatchObject({ code: 'E_SINK_RUN', message: expect.stringContaining('run its pipeline once') });
      const inState = (name: string) => name.startsWith('state') || name.endsWith('.lock');
      expect((await readdir(base, { recursive: true })).filter((name) => !inState(name))).toEqual(before.filter((name) => !inState(name)));
    }
    await run(base, 'run-5', 'd');
    expect(await idsIn(base)).toBe('abcd');
    expect((await readdir(root, { recursive: true })).filter((name) => name.includes('run-4'))).toEqual([]);
  });

  test('is copied again where a copy was cut, on a file system without hard links', async () => {
    const base = await earlier();
    const copy = join(base, '.t.runs/data/run-1/day=a/part-00000.parquet.stored.partial');
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, 'PAR1');
    await run(base, 'run-4', 'd');
    expect((await verifyTable(join(base, 't'))).differences).toEqual([]);
    expect(await readdir(dirname(copy))).toEqual(['part-00000.parquet.stored']);
  });

  test('is refused with all of its files when one of them is not what its run wrote', async () => {
    const base = await earlier();
    await appendFile(join(base, 't/day=a/part-00000-run-1.parquet'), 'x');
    await expect(run(base, 'run-4', 'd')).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
    const manifest = join(base, '.t.runs/_leadstream/runs/run-3.json');
    await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"users"', '"other"'));
    await expect(run(base, 'run-4', 'd')).rejects.toMatchObject({
      code: 'E_GATE_VERIFY',
      message: expect.stringContaining('is not the one'),
    });
  });

  test('is not reached through a link', async () => {
    const [base, other] = [await earlier(), await temporaryFolder()];
    const folder = join(base, '.t.runs/run-2');
    await rename(folder, join(other, 'moved'));
    await symlink(join(other, 'moved'), folder);
    await expect(run(base, 'run-4', 'd')).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await unlink(folder);
    await run(base, 'run-4', 'd');
    expect(await idsIn(base)).toBe('abcd');
  });
});
