import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runPipeline } from '../../../src/run/index.js';
import { summaryOf } from '../../../src/run/report.js';
import { tableRuns } from '../../../src/lake/index.js';
import { duckdb } from '../../support/duckdb.js';
import { serviceOf, leads, pipelineFor } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

test('mode: merge replaces rows that changed, counts what it did everywhere, and writes nothing when nothing changed', async () => {
  const folder = await temporaryFolder();
  const body = 'from: leads\nto:\n  - parquet: { path: t, mode: merge }';
  await runPipeline(await pipelineFor(await serviceOf({ leads: leads(120) }), body, folder));
  const changed = await serviceOf({ leads: leads(150, (index) => (index < 3 ? { lead_status: 'returned' } : {})) });
  const report = await runPipeline(await pipelineFor(changed, body, folder));
  const merged = { before: 120, inserted: 30, changed: 3, unchanged: 117, deleted: 0 };
  expect(report.sinks).toMatchObject([{ changed: 0, merged, total: 150, books: { read: 150, written: 33, unchanged: 117 } }]);
  expect(summaryOf(report)).toContain('merged into 120 rows: inserted 30, changed 3, unchanged 117, deleted 0; it has 150 now');
  expect(await duckdb(`select lead_status, count(*)::int as rows from '${folder}/t/*.parquet' group by all order by all`)).toEqual([
    { lead_status: 'returned', rows: 3 },
    { lead_status: 'sold', rows: 147 },
  ]);
  const files = await readdir(join(folder, '.t.runs'), { recursive: true });
  const same = await runPipeline(await pipelineFor(changed, body, folder));
  expect(same.sinks).toMatchObject([{ merged: { inserted: 0, changed: 0, unchanged: 150 }, total: 150, bytes: 0 }]);
  expect(await readdir(join(folder, '.t.runs'), { recursive: true })).toEqual(expect.arrayContaining(files));
  const runs = await tableRuns(join(folder, 't'));
  expect(runs.map(({ state, manifest }) => [state, manifest.run.merged?.inserted])).toEqual([
    ['unchanged', 0],
    ['published', 30],
    ['kept', 120],
  ]);
});

test('a run that a gate refused leaves no pages behind, so that the next one sees what was repaired', async () => {
  const folder = await temporaryFolder();
  const options = { stateDir: join(folder, 'state') };
  const from = await serviceOf({ leads: leads(250) });
  const refused = await pipelineFor(from, 'from: leads\nexpect: { min_rows: 1000 }\nto:\n  - parquet: { path: t }', folder);
  await expect(runPipeline(refused, options)).rejects.toMatchObject({ code: 'E_GATE_EXPECT' });
  expect((await readdir(join(options.stateDir, 'spool'))).filter((name) => name.startsWith('leads-'))).toEqual([]);
});

test.each([
  ['E_SINK_KEY', 'steps:\n  - select: [lead_id, email]', 'mode: append, key: [email]'],
  ['E_STEP_VALUE', 'on_error: fail\nsteps:\n  - cast: { types: { email: integer } }'],
])(
  'a run that a row has failed (%s) leaves no pages behind, since the row may be right by the next one',
  async (code, steps, mode = 'mode: replace') => {
    const folder = await temporaryFolder();
    const options = { stateDir: join(folder, 'state') };
    const from = await serviceOf({ leads: leads(250, () => ({ email: 'x', zipcode: '9223372036854775807' })) });
    const failing = await pipelineFor(from, `from: leads\n${steps}\nto:\n  - parquet: { path: t, ${mode} }`, folder);
    await expect(runPipeline(failing, options)).rejects.toMatchObject({ code });
    expect((await readdir(join(options.stateDir, 'spool'))).filter((name) => name.startsWith('leads-'))).toEqual([]);
  },
);
