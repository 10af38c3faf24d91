import { Observable, tap, type MonoTypeOperatorFunction } from 'rxjs';
import { LeadstreamError } from '../errors.js';

/** Watches a chain for pages that go into a stage and never come out. */
export interface StallWatch {
  /** Counts what comes out of a stage; to be put behind each, the source first, in order. */
  stage<T>(name: string): MonoTypeOperatorFunction<T>;
  /** Counts what the sinks have taken to its end; to be put last. */
  taken<T>(): MonoTypeOperatorFunction<T>;
  /** Lets a stream fail when its chain has stalled. */
  guard<T>(): MonoTypeOperatorFunction<T>;
}

/**
 * A chain is stalled when as many pages as the window allows have left the source, none of them is with a sink, and nothing has
 * moved for a while. A sink that merely waits, like a pipe that nobody reads, has its page and is left alone.
 *
 * @param window Pages that the source may have out at once.
 * @param stallMs How long nothing may move, in milliseconds. Default 60,000.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the guarded stream, with the name of the stage.
 */
export function createStallWatch(window: number, stallMs = 60_000): StallWatch {
  const stages: { readonly name: string; passed: number }[] = [];
  let taken = 0;
  let moved = 0;

  /** The stage that keeps pages, if the chain cannot go on. */
  function stalledStage(): string | undefined {
    const [source] = stages;
    const last = stages.at(-1);
    if (!source || !last || source.passed - taken < window || last.passed > taken) return undefined;
    return stages.find((stage, index) => index > 0 && stage.passed < (stages[index - 1]?.passed ?? 0))?.name;
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
    stage: (name) => {
      const stage = { name, passed: 0 };
      stages.push(stage);
      return tap(() => {
        stage.passed += 1;
        moved += 1;
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
