import { defer, finalize, tap, type Observable } from 'rxjs';

/** How one subscription of a stream went: `left` before its end, or failed. */
interface Taking {
  outcome: 'open' | 'whole' | 'left';
}

/** The pages that pass from one step to the next; tracks whether all were consumed. */
export class Passage {
  #last: Taking | undefined;
  #open = 0;

  /**
   * @param from Name of the producer, for messages.
   * @param isBlocking Whether it is a step that takes all rows first.
   * @param again Called when the stream is restarted after an unfinished subscription.
   */
  constructor(
    readonly from: string,
    readonly isBlocking: boolean,
    private readonly again: () => void,
  ) {}

  watch<T>(pages$: Observable<T>): Observable<T> {
    return defer(() => {
      if (this.#last?.outcome === 'left') this.again();
      const taking: Taking = { outcome: 'open' };
      const left = () => void (taking.outcome = 'left');
      this.#last = taking;
      this.#open += 1;
      return pages$.pipe(
        tap({ complete: () => (taking.outcome = 'whole'), error: left, unsubscribe: left }),
        finalize(() => (this.#open -= 1)),
      );
    });
  }

  /** Whether a subscriber is waiting for the end. */
  get isOpen(): boolean {
    return this.#open > 0;
  }

  /** Whether the most recent subscription consumed it to the end. */
  get isWhole(): boolean {
    return this.#last?.outcome === 'whole';
  }
}
