import { Observable, map, tap, type MonoTypeOperatorFunction } from 'rxjs';
import { amountOf, LeadstreamError } from '../core/index.js';
import { withRelease } from './lease.js';
import type { Page } from './page.js';
import { failWhenDry } from './stalled.js';

/** The pages that have left a stage. */
interface Stage {
  readonly name: string;
  readonly atWork: () => boolean;
  passed: number;
  released: number;
}

/**
 * Detects stalled chains. A chain is stalled if as many pages as the window allows have left a stage without being released, no sink holds
 * any of them, and nothing has moved for a while. A sink that merely waits, like a pipe that no one reads, holds its page and does not
 * count as stalled; nor does a blocking step, which releases what it takes.
 */
export class StallDetector {
  readonly #stages: Stage[] = [];
  #taken = 0;
  #moved = 0;

  /**
   * @param window Maximum pages outstanding at the source.
   * @param stallMs How long nothing may move.
   */
  constructor(
    private readonly window: number,
    private readonly stallMs = 60_000,
  ) {}

  /**
   * Counts the pages that leave a stage, and their releases. Place one after each stage, the source first. A stage that is at work may keep its pages.
   */
  stage<T>(name: string, atWork: () => boolean = () => false): MonoTypeOperatorFunction<Page<T>> {
    const stage: Stage = { name, atWork, passed: 0, released: 0 };
    this.#stages.push(stage);
    return map((page) => {
      stage.passed += 1;
      this.#moved += 1;
      return withRelease(page, () => {
        stage.released += 1;
        this.#moved += 1;
      });
    });
  }

  /** Counts the pages that the sinks have finished. Place it last. */
  taken<T>(): MonoTypeOperatorFunction<T> {
    return tap(() => {
      this.#taken += 1;
      this.#moved += 1;
    });
  }

  /** Fails a stream when its chain has stalled. @throws {LeadstreamError} `E_RUN_STALLED`, by the stream, with the name of the stage. */
  guard<T>(): MonoTypeOperatorFunction<T> {
    return (stream$) =>
      new Observable((subscriber) => {
        let before = -1;
        const tell = failWhenDry(subscriber, 'stalls', () => {
          const stage = this.#stalledStage();
          return stage && new LeadstreamError('E_RUN_STALLED', `${stage} holds ${amountOf(this.window, 'page')} and releases none`);
        });
        // A timer that kept the process alive would hide from others that nothing else does.
        const timer = setInterval(() => {
          if (this.#moved === before) tell();
          before = this.#moved;
        }, this.stallMs).unref();
        subscriber.add(() => clearInterval(timer));
        subscriber.add(stream$.subscribe(subscriber));
      });
  }

  /** The stage that keeps pages, if the chain cannot continue: the first that returned none of the outstanding ones. */
  #stalledStage(): string | undefined {
    const last = this.#stages.at(-1);
    if (!last || last.passed > this.#taken) return undefined;
    const giver = this.#stages.findLastIndex(({ passed, released }) => passed - released >= this.window);
    const next = giver < 0 ? undefined : this.#stages[giver + 1];
    return next?.atWork() ? undefined : next?.name;
  }
}
