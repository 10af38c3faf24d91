import { open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { of } from 'rxjs';
import { collections, columnsOf } from '../../../src/collections/index.js';
import { commitUnlogged } from '../../../src/store/index.js';
import { writeTo, rollbackTable } from '../../../src/run/index.js';
import { parquet, type ParquetOptions, sinks } from '../../../src/sinks/index.js';
import type { SinkContext } from '../../../src/sinks/sink.js';
import { RunLog, verifyTable } from '../../../src/lake/index.js';
import { duckdb } from '../../support/duckdb.js';
import { pageOf } from '../../support/pages.js';
import { commitOf, elsewhere } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

/** Publishes a run of one row. */
async function publish(path: string, number: string, options: Partial<ParquetOptions>, context: Partial<SinkContext> = {}): Promise<void> {
  const sink = await parquet({ path, ...options }, { ...context, runId: `run-${number}` });
  await writeTo(of(pageOf(1, [{ uid: number, email: null, affid: null }])), sink, { columns: columnsOf(collections.users) });
}

/** A table with several kept runs; the only row of a run is its number. */
async function lake(runs: number): Promise<{ path: string; stateDir: string; seen: () => Promise<unknown> }> {
  const base = await temporaryFolder();
  const path = join(base, 'users');
  for (let run = 1; run <= runs; run += 1) await publish(path, String(run), { keep: 5 });
  const seen = () => duckdb(`SELECT uid FROM '${base}/**/*.parquet'`);
  return { path, stateDir: join(base, '.leadstream'), seen };
}

describe('rollbackTable', () => {
  test('goes to no other run when the one that was replaced is not kept', async () => {
    const { path, stateDir, seen } = await lake(3);
    await rollbackTable(path, { stateDir });
    // The next run keeps the one that it replaces, and prunes that one's predecessor.
    await publish(path, '4', { keep: 2 });
    expect(await rollbackTable(path, { stateDir })).toMatchObject({ from: 'run-4', to: 'run-2' });
    await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({
      message: expect.stringMatching(/the run that it replaced, run-1, is no longer kept; .*--to: run-4, run-3$/),
    });
    expect(await seen()).toEqual([{ uid: '2' }]);
  });

  test('goes to the run that is named, and forth again', async () => {
    const { path, stateDir, seen } = await lake(3);
    await rollbackTable(path, { stateDir, to: 'run-1' });
    expect(await seen()).toEqual([{ uid: '1' }]);
    await rollbackTable(path, { stateDir, to: 'run-3' });
    expect(await seen()).toEqual([{ uid: '3' }]);
    expect(await readdir(join(stateDir, 'redo-log'))).toEqual([]);
  });

  test.each([
    ['run-3', 'is already published'],
    ['run-9', 'has no kept run run-9; kept runs: run-2, run-1'],
    ['../run-1', 'has no kept run ../run-1'],
  ])('refuses to go to %s', async (to, reason) => {
    const { path, stateDir, seen } = await lake(3);
    await expect(rollbackTable(path, { stateDir, to })).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: expect.stringContaining(reason),
    });
    expect(await seen()).toEqual([{ uid: '3' }]);
  });

  test('refuses a table with a single run, and what is no table', async () => {
    const { path, stateDir } = await lake(1);
    await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({ code: 'E_SINK_RUN' });
    await expect(rollbackTable(`${path}-not`, { stateDir })).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
  });

  test('returns to the run that was replaced, not to one that was rolled back from', async () => {
    const { path, stateDir, seen } = await lake(2);
    await rollbackTable(path, { stateDir });
    await publish(path, '3', { keep: 5 });
    expect(await rollbackTable(path, { stateDir })).toMatchObject({ from: 'run-3', to: 'run-1' });
    expect(await seen()).toEqual([{ uid: '1' }]);
  });

  /** Two runs of a table that appends, so that the second one takes over the file of the first. */
  async function appended(): Promise<{ path: string; stateDir: string; shared: string }> {
    const path = join(await temporaryFolder(), 'users');
    for (const number of ['1', '2']) await publish(path, number, { mode: 'append', key: ['uid'] });
    return { path, stateDir: join(path, '../.leadstream'), shared: join(path, 'part-00000-run-1.parquet') };
  }

  async function damage(file: string): Promise<void> {
    const handle = await open(file, 'r+');
    await handle.write(Buffer.from('?'), 0, 1, 9);
    await handle.close();
  }

  test('refuses a run with a damaged file that it shares with the published one', async () => {
    const { path, stateDir, shared } = await appended();
    await damage(shared);
    expect((await verifyTable(path)).differences).toHaveLength(1);
    await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: expect.stringContaining('run run-1 is damaged: '),
    });
  });

  test('holds the run against the log of runs', async () => {
    const base = await temporaryFolder();
    const [path, stateDir] = [join(base, 'users'), join(base, '.leadstream')];
    for (const number of ['1', '2']) await publish(path, number, {}, { runLog: new RunLog(stateDir) });
    const manifest = join(base, '.users.runs/_leadstream/runs/run-1.json');
    await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"collection"', ' "collection"'));
    await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({
      message: expect.stringContaining('is not the one that the run wrote'),
    });
  });

  test('leaves a commit alone that was cut short and is in another redo log', async () => {
    const { path, stateDir } = await lake(2);
    // One that locks nothing, as if its process had been killed.
    const writer = await elsewhere(sinks.parquet, { path, keep: 5 })({ runId: 'run-3' });
    await writer.begin(columnsOf(collections.users));
    const { outputs, actions } = await commitOf(await writer.prepare());
    for (const action of actions) {
      await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({
        code: 'E_SINK_RUN',
        message: expect.stringContaining('was interrupted'),
      });
      await commitUnlogged({ outputs, actions: [action] });
    }
    expect(await rollbackTable(path, { stateDir })).toMatchObject({ from: 'run-3' });
  });

  test('is not hindered by a run that was being removed, nor by the draft of a link to a kept one', async () => {
    const { path, stateDir, seen } = await lake(4);
    const runs = join(path, '../.users.runs');
    await rm(join(runs, 'data/run-1/part-00000.parquet.stored'));
    await symlink('.users.runs/run-2', join(runs, 'run-2.link'));
    expect(await rollbackTable(path, { stateDir })).toMatchObject({ from: 'run-4', to: 'run-3' });
    expect(await rollbackTable(path, { stateDir, to: 'run-2' })).toMatchObject({ from: 'run-3', to: 'run-2' });
    expect(await seen()).toEqual([{ uid: '2' }]);
  });
});
