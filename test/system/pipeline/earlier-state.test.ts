import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { rollbackTable, runPipeline } from '../../../src/pipeline/index.js';
import { cli } from '../../support/cli.js';
import { leads, pipelineFor } from '../../support/pipelines.js';
import { serviceOf } from '../../support/services.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const body = 'from: leads\nto: [{ csv: { path: out/l.csv } }]';

describe.each(['publishing/run-1.intent.json', 'landing/leads-0/pages.log'])('a state folder with %s of an earlier version', (name) => {
  async function place(): Promise<string> {
    const base = await temporaryFolder();
    const file = join(base, '.leadstream', name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '{}');
    return base;
  }

  const refused = { code: 'E_STATE_VERSION', message: expect.stringContaining(`/.leadstream/${name.split('/')[0]} has `) };

  test('is refused by a run before anything is asked or written', async () => {
    const [from, base] = [await serviceOf({ leads: leads(3) }), await place()];
    const before = await filesBelow(base);
    await expect(runPipeline(await pipelineFor(from, body, base))).rejects.toMatchObject(refused);
    expect(from.requests).toEqual([]);
    expect(await filesBelow(base)).toEqual(before);
  });

  test('is refused by a rollback', async () => {
    const base = await place();
    await expect(rollbackTable(join(base, 't'), { stateDir: join(base, '.leadstream') })).rejects.toMatchObject(refused);
  });

  test('is refused by run --recover, with the folder and what to do', async () => {
    const base = await place();
    const before = await filesBelow(base);
    const { code, stderr } = await cli(['run', '--recover'], { cwd: base });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/E_STATE_VERSION: .*leadstream run --finish.*, or remove /)]);
    expect(await filesBelow(base)).toEqual(before);
  });

  test('is no concern of a run that only prints', async () => {
    const [from, base] = [await serviceOf({ leads: leads(3) }), await place()];
    const pipeline = await pipelineFor(from, 'from: leads\nto: [{ stdout: {} }]', base);
    expect((await runPipeline(pipeline, { stdout: new PassThrough().resume() })).read).toBe(3);
  });
});
