import { Observable, lastValueFrom, takeUntil, Subject } from 'rxjs';

/** Waits for the last value of a stream; it never settles once nobody waits for the task any more. */
export type Ask = <V>(source$: Observable<V>) => Promise<V>;

/**
 * An async function as a stream of its result. What it asks for is unsubscribed with it, and then it never goes on.
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
