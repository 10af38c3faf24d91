import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runPipeline } from '../../../src/run/index.js';
import { tableRuns } from '../../../src/lake/index.js';
import { duckdb } from '../../support/duckdb.js';
import { serviceOf, lead, leads, pipelineFor } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const body = 'from: leads\nto:\n  - parquet: { path: t, mode: append }';

test('mode: append adds new rows night after night, and its books balance with those it left', async () => {
  const folder = await temporaryFolder();
  await runPipeline(await pipelineFor(await serviceOf({ leads: leads(120) }), body, folder));
  const changed = leads(150, (index) => (index < 3 ? { lead_status: 'returned' } : {}));
  const report = await runPipeline(await pipelineFor(await serviceOf({ leads: changed }), body, folder));
  expect(report.sinks).toMatchObject([{ changed: 3, total: 150, books: { read: 150, written: 30, unchanged: 120 } }]);
  expect(await duckdb(`select lead_status, count(*)::int as rows from '${folder}/t/*.parquet' group by all`)).toEqual([
    { lead_status: 'sold', rows: 150 },
  ]);
});

test('a table keeps as many runs as keep says', async () => {
  const folder = await temporaryFolder();
  const body = `from: leads\nto:\n  - parquet: { path: t, keep: 2 }`;
  for (let night = 0; night < 4; night += 1)
    await runPipeline(await pipelineFor(await serviceOf({ leads: [lead(night)] }), body, folder), { stateDir: join(folder, 'state') });
  expect((await tableRuns(join(folder, 't'))).map(({ state }) => state)).toEqual(['published', 'kept', 'kept']);
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
