import { Observable, map, tap, type MonoTypeOperatorFunction } from 'rxjs';
import { LeadstreamError } from '../core/index.js';
import { checkUsage, maxTimerMs, number, object } from '../options/index.js';
import { withRelease } from './lease.js';
import type { Page } from './page.js';
import { whenDry } from './stalled.js';

/** What has come out of a stage. */
interface Stage {
  readonly name: string;
  readonly atWork: () => boolean;
  passed: number;
  released: number;
}

const taken = object({ window: number({ whole: true, min: 1 }), stallMs: number({ above: 0, max: maxTimerMs }) }, ['window']);

/**
 * A chain is stalled when as many pages as the window allows have left a stage and were not released, none of them is with a sink, and
 * nothing has moved for a while. A sink that merely waits, like a pipe that nobody reads, has its page and is left alone; so is a
 * blocking step, which releases what it takes.
 *
 * @param window Pages that the source may have out at once.
 * @param stallMs How long nothing may move, in milliseconds, at most 2,147,483,647. Default 60,000.
 * @throws {LeadstreamError} `E_USAGE`, at once, for arguments that cannot be right; `E_RUN_STALLED`, by the guarded stream, with the name of the stage.
 *
 * @example
 * const stalls = createStallDetector(8, 1_000);
 * const watched$ = service.leads.pages$.pipe(stalls.stage('source'), mine, stalls.stage('mine'), deliver(storePage), stalls.taken(), stalls.guard());
 * await lastValueFrom(watched$); // E_RUN_STALLED mine keeps 8 pages and gives none back
 */
export function createStallDetector(window: number, stallMs = 60_000): StallDetector {
  checkUsage('createStallDetector', taken, { window, stallMs });
  return new StallDetector(window, stallMs);
}

/** Watches a chain for pages that go into a stage and never come out; `createStallDetector` makes one. */
export class StallDetector {
  readonly #stages: Stage[] = [];
  #taken = 0;
  #moved = 0;

  constructor(
    private readonly window: number,
    private readonly stallMs: number,
  ) {}

  /**
   * Counts what comes out of a stage, and what of it is released; to be put behind each, the source first, in order. One that is
   * at work may keep what it got.
   */
  stage<T>(name: string, atWork: () => boolean = () => false): MonoTypeOperatorFunction<Page<T>> {
    const stage: Stage = { name, atWork, passed: 0, released: 0 };
    this.#stages.push(stage);
    return map((page) => {
      stage.passed += 1;
      this.#moved += 1;
      let held = true;
      return withRelease(page, () => {
        if (held) stage.released += 1;
        held = false;
        this.#moved += 1;
        page.lease.release();
      });
    });
  }

  /** Counts what the sinks have taken to its end; to be put last. */
  taken<T>(): MonoTypeOperatorFunction<T> {
    return tap(() => {
      this.#taken += 1;
      this.#moved += 1;
    });
  }

  /** Lets a stream fail when its chain has stalled. */
  guard<T>(): MonoTypeOperatorFunction<T> {
    return (stream$) =>
      new Observable((subscriber) => {
        let before = -1;
        const tell = () => {
          const stage = this.#stalledStage();
          if (stage === undefined) return false;
          subscriber.error(new LeadstreamError('E_RUN_STALLED', `${stage} keeps ${this.window} pages and gives none back`));
          return true;
        };
        // A timer that held the process would keep from those who wait that nothing else does.
        const timer = setInterval(() => {
          if (this.#moved === before) tell();
          before = this.#moved;
        }, this.stallMs).unref();
        subscriber.add(() => clearInterval(timer));
        subscriber.add(whenDry('stalls', tell));
        subscriber.add(stream$.subscribe(subscriber));
      });
  }

  /** The stage that keeps pages, if the chain cannot go on: the first that gave none of those that are out. */
  #stalledStage(): string | undefined {
    const last = this.#stages.at(-1);
    if (!last || last.passed > this.#taken) return undefined;
    const giver = this.#stages.findLastIndex(({ passed, released }) => passed - released >= this.window);
    const next = giver < 0 ? undefined : this.#stages[giver + 1];
    return next?.atWork() ? undefined : next?.name;
  }
}
