import { map, of, switchMap, type Observable } from 'rxjs';
import { newConsistency } from '../core/index.js';
import type { CollectionReader } from './fetch/reader.js';
import { Positions } from './end.js';
import { openList, Pages } from './list.js';
import type { ReadingOptions } from './options.js';
import { firstPageOf } from './paging.js';
import { FirstRead } from './seen-rows.js';

/** How far a list with page numbers reaches. */
export interface Extent {
  /** Number of the first page, and the rows of each but the last. */
  readonly firstPage: number;
  readonly limit: number;
  /** Rows by now; `undefined` if they cannot be counted. */
  readonly rows: number | undefined;
}

/** Finds out how a list is paged, and counts its rows. It reads page 1, whose fields are named then. */
export function extentOf(reader: CollectionReader<unknown>, options: ReadingOptions): Observable<Extent> {
  const paging = { ...options, firstPage: firstPageOf(reader.collection, options) };
  const reading = new FirstRead(reader, paging, newConsistency());
  return openList(reading.reader, paging).pipe(
    switchMap((list) => {
      if (!(list instanceof Pages)) return of({ firstPage: 1, limit: 1, rows: undefined });
      const { firstPage, limit } = list;
      return list.page(firstPage).pipe(
        map((batch) => reader.findings.named(batch)),
        switchMap(() => new Positions(list, reading).count(options.expectedRows ?? limit)),
        map((rows) => ({ firstPage, limit, rows })),
      );
    }),
  );
}
