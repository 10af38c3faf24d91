import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadPipeline } from '../../../src/plan/index.js';
import { recoverRuns, runPipeline } from '../../../src/run/index.js';
import { cli } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const body = 'from: users\nto:\n  - parquet: { path: lake/users }\n  - csv: { path: lake/users.csv }';

describe('a commit of several outputs', () => {
  /** Something comes into the way of the second output while the run reads. */
  async function halfPublished() {
    const [from, baseDir] = [await service(), await temporaryFolder()];
    const pipeline = await loadPipeline({ text: pipelineText(body), file: 'p.yaml' }, { env: from.env, baseDir });
    const inTheWay = join(baseDir, 'lake', 'users.csv');
    const run = runPipeline(pipeline, {
      watch: {
        page: () => {
          mkdirSync(inTheWay, { recursive: true });
          writeFileSync(join(inTheWay, 'file'), '');
        },
      },
    });
    await expect(run).rejects.toMatchObject({ code: 'E_SINK_WRITE' });
    return { pipeline, baseDir, inTheWay };
  }

  test('is recovered by recoverRuns alone, without a request, and not read again from its spooled pages', async () => {
    const { pipeline, baseDir, inTheWay } = await halfPublished();
    await rm(inTheWay, { recursive: true });
    expect(await recoverRuns(join(baseDir, '.leadstream'))).toEqual(['test']);
    expect((await readFile(join(baseDir, 'lake', 'users.csv'), 'utf8')).split('\n')).toHaveLength(302);
    expect(await readdir(join(baseDir, '.leadstream', 'redo-log'))).toEqual([]);
    expect(await runPipeline(pipeline)).toMatchObject({ resumed: 0 });
  });

  test.each([
    ['is not there', '.leadstream'],
    ['is a file', 'file'],
  ])('is not looked for where the state folder %s', async (_what, stateDir) => {
    const baseDir = await temporaryFolder();
    await writeFile(join(baseDir, 'file'), '');
    const { code, stderr } = await cli(['run', '--recover', '--state-dir', stateDir], { cwd: baseDir });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`E_USAGE: there is no state folder ${join(baseDir, stateDir)}; pass the --state-dir`),
    ]);
    expect(await readdir(baseDir)).toEqual(['file']);
  });

  test('is not said to be recovered when a partial file is gone and the earlier output stands', async () => {
    const { baseDir, inTheWay } = await halfPublished();
    await rm(inTheWay, { recursive: true });
    await writeFile(inTheWay, 'the earlier output');
    const partial = (await readdir(join(baseDir, 'lake'))).filter((name) => name.endsWith('.partial'));
    expect(partial).toHaveLength(1);
    for (const name of partial) await rm(join(baseDir, 'lake', name));
    const { code, stderr } = await cli(['run', '--recover'], { cwd: baseDir });
    expect(code).toBe(1);
    expect(stderr).toMatch(/E_SINK_VERIFY: .*users\.csv.* is gone, and the existing file has .* bytes.*to abandon that commit, check/);
    expect(stderr).not.toContain('recovered:');
    expect(await readFile(inTheWay, 'utf8')).toBe('the earlier output');
    expect(await readdir(join(baseDir, '.leadstream', 'redo-log'))).toHaveLength(1);
  });
});
