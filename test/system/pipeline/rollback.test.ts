import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { of } from 'rxjs';
import { collections, columnsOf } from '../../../src/collections/index.js';
import { lockOutputs, publish } from '../../../src/files/index.js';
import { land, rollbackTable } from '../../../src/pipeline/index.js';
import { parquet, tableRuns, verifyTable } from '../../../src/sinks/index.js';
import { duckdb } from '../../support/duckdb.js';
import { pageOf } from '../../support/pages.js';
import { temporaryFolder } from '../../support/temporary.js';

/** A table with several kept runs; the only row of a run is its number. */
async function lake(runs: number): Promise<{ path: string; stateDir: string; seen: () => Promise<unknown> }> {
  const base = await temporaryFolder();
  const path = join(base, 'users');
  for (let run = 1; run <= runs; run += 1) {
    const row = { uid: String(run), email: null, affid: null };
    await land(of(pageOf(1, [row])), await parquet({ path, keep: 5 }, { runId: `run-${run}` }), { columns: columnsOf(collections.users) });
  }
  const seen = () => duckdb(`SELECT uid FROM '${base}/**/*.parquet'`);
  return { path, stateDir: join(base, '.leadstream'), seen };
}

describe('rollbackTable', () => {
  test('makes the run before the published one, for every glob', async () => {
    const { path, stateDir, seen } = await lake(3);
    expect(await rollbackTable(path, { stateDir })).toEqual({ from: 'run-3', to: 'run-2' });
    expect(await seen()).toEqual([{ uid: '2' }]);
    expect((await verifyTable(path)).differences).toEqual([]);
    expect((await tableRuns(path)).map(({ run, state }) => `${run} ${state}`)).toEqual(['run-3 kept', 'run-2 published', 'run-1 kept']);
  });

  test('goes to the run that is named, and forth again', async () => {
    const { path, stateDir, seen } = await lake(3);
    await rollbackTable(path, { stateDir, to: 'run-1' });
    expect(await seen()).toEqual([{ uid: '1' }]);
    await rollbackTable(path, { stateDir, to: 'run-3' });
    expect(await seen()).toEqual([{ uid: '3' }]);
    expect(await readdir(join(stateDir, 'publishing'))).toEqual([]);
  });

  test.each([
    ['run-3', 'is the published one already'],
    ['run-9', 'has no kept run run-9; there is run-2, run-1'],
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
    await land(of(pageOf(1, [{ uid: '3', email: null, affid: null }])), await parquet({ path, keep: 5 }, { runId: 'run-3' }), {
      columns: columnsOf(collections.users),
    });
    expect(await rollbackTable(path, { stateDir })).toEqual({ from: 'run-3', to: 'run-1' });
    expect(await seen()).toEqual([{ uid: '1' }]);
  });

  test('leaves a publication alone that was cut short and whose intent lies elsewhere', async () => {
    const { path, stateDir } = await lake(2);
    const writer = await parquet({ path, keep: 5 }, { runId: 'run-3' });
    await writer.begin(columnsOf(collections.users));
    const staged = await writer.finish();
    const facts = { pipeline: 'p', fingerprint: '', collection: 'users', pages: 0, startedAt: '', consistency: 'off', books: {} };
    const moves = await staged.publication(facts);
    for (let done = 0; done < moves.length; done += 1) {
      await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({
        code: 'E_SINK_RUN',
        message: expect.stringContaining('was cut short'),
      });
      await publish(moves.slice(done, done + 1));
    }
    expect(await rollbackTable(path, { stateDir })).toMatchObject({ from: 'run-3' });
  });

  test('waits for no run that works on the table', async () => {
    const { path, stateDir } = await lake(2);
    const lock = await lockOutputs([path], { runId: 'other' });
    await expect(rollbackTable(path, { stateDir })).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await lock.release();
  });
});
