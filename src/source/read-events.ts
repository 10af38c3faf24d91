import { defer, type Observable } from 'rxjs';
import { countOf, type Page } from '../flow/index.js';
import type { Consistency } from '../core/index.js';
import type { ReadingOptions } from './options.js';
import type { ListReader } from './paging.js';

/** Publishes the read of a list, and its pages as they arrive. Code that relies on the counts uses `onPage` instead. */
export function watched(
  { collection: { name: collection } }: ListReader,
  options: ReadingOptions,
  consistency: Consistency,
  read: (options: ReadingOptions) => Observable<Page>,
): Observable<Page> {
  const { events, at } = options;
  if (!events) return defer(() => read(options));
  return defer(() => {
    let [pages, rows] = [0, 0];
    const onPage = (page: Page) => {
      options.onPage?.(page);
      pages += 1;
      rows += countOf(page);
      events.emit('page', () => ({ collection, at, number: page.number, rows: countOf(page), pages, read: rows }));
    };
    return events.during$(
      'read',
      () => ({ collection, at, expected: options.expectedRows }),
      defer(() => read({ ...options, onPage })),
      () => ({ pages, read: rows, outcome: consistency.outcome, repaired: consistency.repaired }),
    );
  });
}
