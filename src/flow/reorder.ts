import { defer, type MonoTypeOperatorFunction } from 'rxjs';
import { handling } from './page.js';

/** Puts items back into the order of their numbers. It buffers items that arrive early, which the window bounds. */
export function reorder<T extends { readonly number: number }>(first: number): MonoTypeOperatorFunction<T> {
  return (source$) =>
    defer(() => {
      const early = new Map<number, T>();
      let next = first;
      const inOrder = handling<T, T>((item, subscriber) => {
        early.set(item.number, item);
        for (let ready = early.get(next); ready !== undefined && !subscriber.closed; ready = early.get(next)) {
          early.delete(next);
          next += 1;
          subscriber.next(ready);
        }
      });
      return source$.pipe(inOrder);
    });
}
