import { describe, expect, test } from '@jest/globals';
import { EMPTY, lastValueFrom, mergeMap, of, toArray } from 'rxjs';
import { createStallWatch, deliver, pagedSource, type Page, type Step } from '../../../src/flow/index.js';

const source = (pages: number, window: number) =>
  pagedSource<number>((page) => of(page <= pages ? [page] : []), { window, concurrency: 1 });

/** Runs a chain of one step under a watch that loses patience after 10 ms. */
async function run(step: Step<number, number>, write: (page: Page<number>) => Promise<void> | number[] = () => [0]) {
  const watch = createStallWatch(3, 10);
  const chain$ = source(10, 3).pipe(
    watch.stage('source'),
    step,
    watch.stage('steps[0] mine'),
    deliver(write),
    watch.taken(),
    watch.guard(),
  );
  return lastValueFrom(chain$.pipe(toArray()));
}

describe('a stall watch', () => {
  test('names the stage that keeps pages', async () => {
    const hoard: Step<number, number> = mergeMap(() => EMPTY);
    await expect(run(hoard)).rejects.toMatchObject({ code: 'E_RUN_STALLED', message: 'steps[0] mine keeps 3 pages and gives none back' });
  });

  test('leaves a chain alone that goes on', async () => {
    expect(await run((pages$) => pages$)).toHaveLength(10);
  });

  test('leaves a sink alone that merely waits', async () => {
    // Many times as long as the watch is patient.
    const paused = (page: Page<number>) => new Promise<void>((resolve) => setTimeout(resolve, page.number === 2 ? 100 : 0));
    expect(await run((pages$) => pages$, paused)).toHaveLength(10);
  });
});
