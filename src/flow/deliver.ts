import { concat, concatMap, defer, dematerialize, ignoreElements, materialize, type Observable, type ObservableInput } from 'rxjs';
import type { Page } from './page.js';

/**
 * Hands every page to a writer, one at a time and in order, and releases it when the writer completes. Emits each page
 * number after its release. An error of the stream waits behind the pages that came before it; an error of the writer
 * ends the stream.
 */
export function deliver<T>(write: (page: Page<T>) => ObservableInput<unknown>) {
  return (pages$: Observable<Page<T>>): Observable<number> =>
    pages$.pipe(
      materialize(),
      concatMap((event) => (event.kind === 'N' ? written(event.value, write) : [event])),
      dematerialize(),
    );
}

function written<T>(page: Page<T>, write: (page: Page<T>) => ObservableInput<unknown>) {
  return concat(
    defer(() => write(page)).pipe(ignoreElements()),
    defer(() => {
      page.lease.release();
      return [{ kind: 'N', value: page.number } as const];
    }),
  );
}
