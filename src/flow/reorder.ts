import { Observable, type MonoTypeOperatorFunction } from 'rxjs';

/** Puts items back into the order of their numbers. It buffers items that arrive early, which the window bounds. */
export function reorder<T extends { readonly number: number }>(first: number): MonoTypeOperatorFunction<T> {
  return (source$) =>
    new Observable((subscriber) => {
      const early = new Map<number, T>();
      let next = first;
      return source$.subscribe({
        next: (item) => {
          early.set(item.number, item);
          for (let ready = early.get(next); ready !== undefined && !subscriber.closed; ready = early.get(next)) {
            early.delete(next);
            next += 1;
            subscriber.next(ready);
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
    });
}
