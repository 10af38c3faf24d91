import { join } from 'node:path';
import { lockOutputs, Stores } from '../../../src/store/index.js';
import { cli } from '../../support/cli.js';
import { service, toCsv, workplace } from '../../support/services.js';
import { visible } from '../../support/temporary.js';

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
});
