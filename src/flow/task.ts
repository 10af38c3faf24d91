import { last, Observable } from 'rxjs';

/** Waits for the last value of a stream; it never settles once the task is unsubscribed. */
export type Ask = <V>(source$: Observable<V>) => Promise<V>;

/** Runs an async function as a stream of its result. Unsubscribing also unsubscribes what it awaits, and it never resumes. */
export function task<T>(work: (ask: Ask) => Promise<T>): Observable<T> {
  return new Observable((subscriber) => {
    const ask: Ask = (source$) =>
      new Promise((resolve, reject) => {
        if (!subscriber.closed) subscriber.add(source$.pipe(last()).subscribe({ next: resolve, error: reject }));
      });
    work(ask).then(
      (value) => {
        subscriber.next(value);
        subscriber.complete();
      },
      (error: unknown) => subscriber.error(error),
    );
  });
}
