import { describe, expect, test } from '@jest/globals';
import { EMPTY, lastValueFrom, mergeMap, of, toArray } from 'rxjs';
import type { Row } from '../../../src/core/index.js';
import {
  blocking,
  type Collector,
  createStallDetector,
  deliver,
  keep,
  pagedSource,
  standalone,
  type Page,
  type Step,
} from '../../../src/flow/index.js';
import { RecordBatch } from '../../../src/vector/index.js';
import { setTimeout } from 'node:timers/promises';

const source = (pages: number, window: number) =>
  pagedSource<number>((page) => of(page <= pages ? [page] : []), { window, concurrency: 1 });

/** Runs a chain of one step under a watch that loses patience after 10 ms. */
async function run(step: Step<number, number>, write: (page: Page<number>) => Promise<void> | number[] = () => [0]) {
  const watch = createStallDetector(3, 10);
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
    const hoard: Step<number, number> = mergeMap((page) => {
      keep(page);
      return EMPTY;
    });
    await expect(run(hoard)).rejects.toMatchObject({ code: 'E_RUN_STALLED', message: 'steps[0] mine holds 3 pages and releases none' });
  });

  test('leaves a blocking step alone that is at work', async () => {
    const watch = createStallDetector(3, 10);
    let atWork = false;
    const batches: RecordBatch[] = [];
    const collector: Collector = {
      add: async (batch) => {
        // Many times as long as the watch is patient.
        if (batches.push(batch) === 2) await setTimeout(100);
      },
      finish: () => Promise.resolve({ next: () => Promise.resolve(batches.shift() ?? RecordBatch.empty) }),
      close: () => Promise.resolve(),
    };
    const rows$ = pagedSource<Row>((page) => of(page <= 10 ? [{ page: String(page) }] : []), { window: 3, concurrency: 1 });
    const chain$ = rows$.pipe(
      watch.stage('source'),
      blocking<Row, Row>({ ...standalone('steps[0] mine'), working: (is) => void (atWork = is) }, () => collector),
      watch.stage('steps[0] mine', () => atWork),
      deliver(() => [0]),
      watch.taken(),
      watch.guard(),
    );
    expect(await lastValueFrom(chain$.pipe(toArray()))).toHaveLength(10);
  });

  test('leaves a sink alone that merely waits', async () => {
    // Many times as long as the watch is patient.
    const paused = (page: Page<number>) => setTimeout(page.number === 2 ? 100 : 0);
    expect(await run((pages$) => pages$, paused)).toHaveLength(10);
  });
});
