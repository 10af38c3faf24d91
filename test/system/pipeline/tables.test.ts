import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runPipeline } from '../../../src/run/index.js';
import { serviceOf, leads, pipelineFor } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

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
