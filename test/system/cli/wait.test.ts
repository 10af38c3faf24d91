import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineSink } from '../../../src/leadstream.js';
import { loadPipeline } from '../../../src/plan/index.js';
import { runPipeline } from '../../../src/run/index.js';
import { lockOutputs, lockOwn, Stores } from '../../../src/store/index.js';
import { cli } from '../../support/cli.js';
import { pipelineText, service, toCsv, workplace } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

/** @param afterMs When the other run ends; before it, the command cannot have an output. */
async function held(afterMs: number, ...words: string[]) {
  const [from, cwd, stop] = [await service(), await workplace(toCsv), new AbortController()];
  const lock = await lockOutputs([join(cwd, 'out/leads.csv')], { runId: 'other', stores: new Stores() });
  const running = cli(['run', 'p.yaml', ...words], { cwd, env: from.env, signal: stop.signal });
  const end = (work: () => unknown) => setTimeout(() => void work(), afterMs);
  return { cwd, running, release: () => end(lock.release), abort: () => end(() => stop.abort()), lock };
}

describe('leadstream run --wait', () => {
  test('waits for the run that holds an output, and publishes then', async () => {
    const { cwd, running, release } = await held(700, '--wait', '10m');
    release();
    expect(await running).toMatchObject({ code: 0 });
    expect(await visible(join(cwd, 'out'))).toContain('leads.csv');
  });

  test('ends with 75 when the time is over, and with 130 at once after a signal', async () => {
    for (const [words, code] of [
      [['--wait', '50ms'], 75],
      [['--wait', '10m'], 130],
      [['--wait', 'long'], 2],
    ] as const) {
      const { running, abort, lock } = await held(300, ...words);
      if (code === 130) abort();
      expect(await running).toMatchObject({ code });
      await lock.release();
    }
  });

  test('does not wait once an output has published, which a second try would write again', async () => {
    const [from, baseDir] = [await service(), await temporaryFolder()];
    let commits = 0;
    const between = defineSink('between', {
      open: () => ({
        write: () => undefined,
        abort: () => undefined,
        commit: () => {
          commits += 1;
          return writeFile(join(baseDir, 'b/_delta_log/00000000000000000001.json'), '{"commitInfo":{"timestamp":0,"operation":"FOREIGN"}}');
        },
      }),
    });
    const table = (name: string) => `  - parquet: { path: ${name}, table: delta, mode: append }`;
    const body = (...sinks: string[]) => pipelineText(['from: users', 'to:', ...sinks].join('\n'));
    const options = { env: from.env, baseDir, sinks: [between] };
    await runPipeline(await loadPipeline({ text: body(table('b')), file: 'p.yaml' }, options));
    const pipeline = await loadPipeline({ text: body(table('a'), '  - between: {}', table('b')), file: 'p.yaml' }, options);
    await expect(runPipeline(pipeline, { waitMs: 600_000 })).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(commits).toBe(1);
    expect(await cli(['verify', 'a'], { cwd: baseDir })).toMatchObject({ code: 0 });
  });

  test('uses no pages of the other run with --restart', async () => {
    const [from, baseDir] = [await service(), await temporaryFolder()];
    const pipeline = await loadPipeline(
      { text: pipelineText('from: leads\nto: [{ csv: { path: leads.csv } }]'), file: 'p.yaml' },
      { env: from.env, baseDir },
    );
    const stop = new AbortController();
    const stopped = runPipeline(pipeline, { signal: stop.signal, watch: { page: ({ number }) => number === 4 && stop.abort() } });
    await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    const spools = join(baseDir, '.leadstream/spool');
    const [list = ''] = (await readdir(spools)).filter((name) => name.startsWith('leads-'));
    const other = await lockOwn(join(spools, list), { runId: 'other' });
    // Longer than a run waits for the removal of old pages.
    setTimeout(() => void other.release(), 4_000);
    expect(await runPipeline(pipeline, { restart: true, waitMs: 600_000 })).toMatchObject({ resumed: 0 });
  });
});
