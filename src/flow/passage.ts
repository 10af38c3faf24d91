import { defer, finalize, tap, type Observable } from 'rxjs';

/** What goes from one step to the next: whether all of it was taken. */
export class Passage {
  #subscriptions = 0;
  #open = 0;
  #isWhole = false;

  /**
   * @param from Who gives it, for messages.
   * @param isBlocking Whether that is a step that takes all rows first.
   */
  constructor(
    readonly from: string,
    readonly isBlocking: boolean,
  ) {}

  watch<T>(pages$: Observable<T>): Observable<T> {
    return defer(() => {
      this.#subscriptions += 1;
      this.#open += 1;
      this.#isWhole = false;
      const subscription = this.#subscriptions;
      const complete = () => {
        this.#isWhole = subscription === this.#subscriptions;
      };
      return pages$.pipe(
        tap({ complete }),
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
    return this.#isWhole;
  }
}
