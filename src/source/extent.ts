import { map, of, switchMap, type Observable } from 'rxjs';
import { newConsistency } from '../core/index.js';
import type { CollectionReader } from './fetch/reader.js';
import { Positions } from './end.js';
import { openList, Pages } from './list.js';
import type { ReadingOptions } from './options.js';
import { firstPageOf } from './paging.js';
import { FirstRead } from './seen-rows.js';

/**
 * Finds out how a list is paged, and counts its rows. It reads page 1, whose fields are named then.
 *
 * @returns The number of the first page, the rows of each page but the last, and of the list: `undefined` if they cannot be counted.
 */
export function extentOf(reader: CollectionReader<unknown>, options: ReadingOptions) {
  const paging = { ...options, firstPage: firstPageOf(reader.collection, options) };
  const reading = new FirstRead(reader, paging, newConsistency());
  return openList(reading.reader, paging).pipe(
    switchMap((list): Observable<{ firstPage: number; limit: number; rows: number | undefined }> => {
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
