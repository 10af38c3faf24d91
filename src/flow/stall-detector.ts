import { Observable, map, tap, type MonoTypeOperatorFunction } from 'rxjs';
import { LeadstreamError } from '../core/index.js';
import { withRelease } from './lease.js';
import type { Page } from './page.js';

/** Watches a chain for pages that go into a stage and never come out. */
export interface StallDetector {
  /**
   * Counts what comes out of a stage, and what of it is released; to be put behind each, the source first, in order. One that is
   * at work may keep what it got.
   */
  stage<T>(name: string, atWork?: () => boolean): MonoTypeOperatorFunction<Page<T>>;
  /** Counts what the sinks have taken to its end; to be put last. */
  taken<T>(): MonoTypeOperatorFunction<T>;
  /** Lets a stream fail when its chain has stalled. */
  guard<T>(): MonoTypeOperatorFunction<T>;
}

/** What has come out of a stage. */
interface Stage {
  readonly name: string;
  readonly atWork: () => boolean;
  passed: number;
  released: number;
}

/**
 * A chain is stalled when as many pages as the window allows have left a stage and were not released, none of them is with a sink, and
 * nothing has moved for a while. A sink that merely waits, like a pipe that nobody reads, has its page and is left alone; so is a
 * blocking step, which releases what it takes.
 *
 * @param window Pages that the source may have out at once.
 * @param stallMs How long nothing may move, in milliseconds. Default 60,000.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the guarded stream, with the name of the stage.
 */
export function createStallDetector(window: number, stallMs = 60_000): StallDetector {
  const stages: Stage[] = [];
  let taken = 0;
  let moved = 0;

  /** The stage that keeps pages, if the chain cannot go on: the first that gave none of those that are out. */
  function stalledStage(): string | undefined {
    const last = stages.at(-1);
    if (!last || last.passed > taken) return undefined;
    const giver = stages.findLastIndex(({ passed, released }) => passed - released >= window);
    const next = giver < 0 ? undefined : stages[giver + 1];
    return next?.atWork() ? undefined : next?.name;
  }

  function guard<T>(stream$: Observable<T>): Observable<T> {
    return new Observable((subscriber) => {
      let before = -1;
      const timer = setInterval(() => {
        const stage = moved === before ? stalledStage() : undefined;
        before = moved;
        if (stage !== undefined)
          subscriber.error(new LeadstreamError('E_RUN_STALLED', `${stage} keeps ${window} pages and gives none back`));
      }, stallMs);
      subscriber.add(() => clearInterval(timer));
      subscriber.add(stream$.subscribe(subscriber));
    });
  }

  return {
    stage: (name, atWork = () => false) => {
      const stage: Stage = { name, atWork, passed: 0, released: 0 };
      stages.push(stage);
      return map((page) => {
        stage.passed += 1;
        moved += 1;
        let held = true;
        return withRelease(page, () => {
          if (held) stage.released += 1;
          held = false;
          moved += 1;
          page.lease.release();
        });
      });
    },
    taken: () =>
      tap(() => {
        taken += 1;
        moved += 1;
      }),
    guard: () => guard,
  };
}
