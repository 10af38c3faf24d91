import { describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { recoverCommits, logCommit, commitUnlogged, type Commit } from '../../../src/store/index.js';
import { parquetSink } from '../../../src/sinks/parquet.js';
import { tableRuns, verifyTable } from '../../../src/lake/index.js';
import { pageOf } from '../../support/pages.js';
import { column, commitOf, elsewhere, recording, writeAll } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';
import { temporaryFolder } from '../../support/temporary.js';

const columns = [column('id', 'text', { source: 'id' }), column('day')];
const modes = ['replace', 'replace_partitions', 'append', 'merge'] as const;

/** A run whose rows are of one day; under every mode a table has what its last run wrote, beside what it keeps. */
function open(base: string, runId: string, mode: (typeof modes)[number]) {
  return elsewhere(parquetSink, { path: 't', mode, partition_by: ['day'] })({ ...recording(base, runId), key: ['id'] });
}

const rowsOf = (runId: string, day: string) => [0, 1, 2].map((n) => ({ id: `${runId}-${n}`, day }));

/** Publishes two runs and brings a third to where its actions are known. */
async function prepared(base: string, mode: (typeof modes)[number]): Promise<Commit> {
  for (const [runId, day] of [
    ['run-1', 'a'],
    ['run-2', 'b'],
  ] as const)
    await writeAll(open(base, runId, mode), columns, rowsOf(runId, day));
  const writer = await open(base, 'run-3', mode);
  await writer.begin(columns);
  // A row that changed shares its file with others, which are written again.
  const changed = mode === 'merge' ? [{ id: 'run-1-0', day: 'b' }] : [];
  await writer.write(pageOf(1, [...rowsOf('run-3', 'b'), ...changed]));
  return commitOf(await writer.prepare());
}

/** Rows that every glob sees, from above the table and in it. */
async function globbed(base: string): Promise<readonly unknown[]> {
  const rows = async (glob: string) =>
    (await duckdb(`SELECT id FROM read_parquet('${base}/${glob}', hive_partitioning = true) ORDER BY id`)).map(({ id }) => id);
  const [above, within] = [await rows('**/*.parquet'), await rows('t/**/*.parquet')];
  expect(above).toEqual(within);
  return within;
}

const idsOf = (...runs: string[]) => runs.flatMap((run) => rowsOf(run, '').map(({ id }) => id));
const all = idsOf('run-1', 'run-2', 'run-3');
const finalRows = { replace: idsOf('run-3'), replace_partitions: idsOf('run-1', 'run-3'), append: all, merge: all };
const rowsBefore = { replace: 3, replace_partitions: 6, append: 6, merge: 6 };

describe.each(modes)('a commit with mode: %s that is killed', (mode) => {
  test('after any of its actions is whole for readers, and recovered from the redo log', async () => {
    let count = 1;
    for (let done = 0; done <= count; done += 1) {
      const folder = await temporaryFolder();
      const commit = await prepared(folder, mode);
      count = commit.actions.length;
      const [redoLog, table] = [join(folder, 'state'), join(folder, 't')];
      await logCommit(redoLog, { runId: 'run-3', pipeline: 'p', ...commit });
      await commitUnlogged({ ...commit, actions: commit.actions.slice(0, done) });
      const { run, rows, differences } = await verifyTable(table);
      expect([done, differences]).toEqual([done, []]);
      expect(rows).toBe(run === 'run-3' ? finalRows[mode].length : rowsBefore[mode]);

      await recoverCommits(redoLog, { runId: 'run-4' });
      expect(await verifyTable(table)).toMatchObject({ run: 'run-3', differences: [] });
      expect(await globbed(folder)).toEqual(finalRows[mode]);
    }
    expect(count).toBeGreaterThan(2);
  });

  test('after any of its actions is cleared away by the next run when the redo log is lost', async () => {
    let count = 1;
    for (let done = 0; done <= count; done += 1) {
      const folder = await temporaryFolder();
      const commit = await prepared(folder, mode);
      count = commit.actions.length;
      await commitUnlogged({ ...commit, actions: commit.actions.slice(0, done) });
      await writeAll(open(folder, 'run-5', 'replace'), columns, rowsOf('run-5', 'c'));
      const table = join(folder, 't');
      expect(await verifyTable(table)).toMatchObject({ run: 'run-5', differences: [] });
      expect([done, await globbed(folder)]).toEqual([done, idsOf('run-5')]);
      expect((await tableRuns(table)).map(({ state }) => state)).toEqual(['published', 'kept']);
    }
  });
});
