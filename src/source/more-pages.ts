import { catchError, map, of, throwError, type Observable } from 'rxjs';
import { RecordBatch } from '../vector/index.js';
import { task } from '../flow/index.js';
import { isViolation } from './failures.js';
import type { ListReader } from './paging.js';
import { namesOf } from './seen-rows.js';

/**
 * Returns whether a list that was returned without a page number has more rows: then pages 1 and 2, with the service's page size, have other
 * rows. A second page without rows is requested once more, with a limit that divides the number of rows received, since that may work.
 */
export function hasMorePages(reader: ListReader, all: RecordBatch): Observable<boolean> {
  const { key } = reader.collection;
  const known = new Set(namesOf(all, key));
  const isOther = (batch: RecordBatch) => {
    const rows = namesOf(batch, key);
    // A part of the list is a page of it.
    if (rows.length > 0 && rows.length * 2 <= known.size) return true;
    // If an unpaged list has grown meanwhile, some rows can be new, but not most.
    return rows.filter((row) => !known.has(row)).length * 2 > rows.length;
  };
  const page = (number: number, limit: number | null = null) =>
    reader.request({ page: number, limit, purpose: 'probe' }).pipe(
      map(({ batch }) => batch),
      // A service without pages may refuse them; one that does not answer cannot be distinguished from one with pages.
      catchError((error: unknown) => (isViolation(error) ? of(RecordBatch.empty) : throwError(() => error))),
    );
  return task(async (ask) => {
    const second = await ask(page(2));
    const size = divisorOf(all.length);
    if (isOther(second.length > 0 ? second : await ask(page(all.length / size + 1, size)))) return true;
    return isOther(await ask(page(1)));
  });
}

/** Returns the largest page size with a border after the given number of rows. */
function divisorOf(rows: number): number {
  let size = Math.min(rows, 500);
  while (rows % size !== 0) size -= 1;
  return size;
}
