import { defer, finalize, tap, type Observable } from 'rxjs';

/** How one taking of a stream went: `left` before its end, or failed. */
interface Taking {
  outcome: 'open' | 'whole' | 'left';
}

/** What goes from one step to the next: whether all of it was taken. */
export class Passage {
  #last: Taking | undefined;
  #open = 0;

  /**
   * @param from Who gives it, for messages.
   * @param isBlocking Whether that is a step that takes all rows first.
   * @param again Called when it is taken from its beginning again, since the last time came to nothing.
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

  /** Whether somebody waits for its end. */
  get isOpen(): boolean {
    return this.#open > 0;
  }

  /** Whether it was taken to its end; where it was begun again, the last time. */
  get isWhole(): boolean {
    return this.#last?.outcome === 'whole';
  }
}
