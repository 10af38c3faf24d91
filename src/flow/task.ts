import { Observable, lastValueFrom, takeUntil, Subject } from 'rxjs';

/** Waits for the last value of a stream; it never settles once the task is unsubscribed. */
export type Ask = <V>(source$: Observable<V>) => Promise<V>;

/**
 * Runs an async function as a stream of its result. Unsubscribing also unsubscribes what it is waiting for, and the function never resumes.
 *
 * @example
 * task(async (ask) => (await ask(page$(1))).length + (await ask(page$(2))).length);
 */
export function task<T>(work: (ask: Ask) => Promise<T>): Observable<T> {
  return new Observable((subscriber) => {
    const stopped$ = new Subject<void>();
    const ask: Ask = (source$) =>
      new Promise((resolve, reject) => {
        if (subscriber.closed) return;
        lastValueFrom(source$.pipe(takeUntil(stopped$))).then(
          (value) => {
            if (!subscriber.closed) resolve(value);
          },
          (error: unknown) => {
            if (!subscriber.closed) reject(error);
          },
        );
      });
    subscriber.add(() => stopped$.next());
    work(ask).then(
      (value) => {
        subscriber.next(value);
        subscriber.complete();
      },
      (error: unknown) => subscriber.error(error),
    );
  });
}
