import { catchError, map, of, throwError, type Observable } from 'rxjs';
import type { CollectionReader } from '../client/index.js';
import { rowsIn, type Content } from '../columnar/index.js';
import { task } from '../flow/index.js';
import { isRefusal } from './failures.js';
import { fingerprintOf } from './fingerprint.js';

/**
 * Whether a list that came without a page number has more than what came: pages 1 and 2, as long as the service likes them, have other
 * rows then. A second page without rows is asked for once more, with a limit that divides what came, since that may pass.
 */
export function hasMorePages<T>(reader: CollectionReader<T>, all: Content<T>): Observable<boolean> {
  const known = new Set(rowsIn(all).map((row) => fingerprintOf([row])));
  const isOther = (content: Content<T>) => {
    const rows = rowsIn(content);
    // A part of it is a page of it.
    if (rows.length > 0 && rows.length * 2 <= known.size) return true;
    // Of an unpaged list that has grown meanwhile, some rows can be new, but not most.
    return rows.filter((row) => !known.has(fingerprintOf([row]))).length * 2 > rows.length;
  };
  const page = (number: number, limit: number | null = null) =>
    reader.request({ page: number, limit, purpose: 'probe' }).pipe(
      map(({ content }) => content),
      // A service that does not know pages may refuse them; one that does not answer is not told apart from one that has pages.
      catchError((error: unknown) => (isRefusal(error) ? of<Content<T>>([]) : throwError(() => error))),
    );
  return task(async (ask) => {
    const second = await ask(page(2));
    const size = divisorOf(all.length);
    if (isOther(second.length > 0 ? second : await ask(page(all.length / size + 1, size)))) return true;
    return isOther(await ask(page(1)));
  });
}

/** The largest page size that ends a page where so many rows end. */
function divisorOf(rows: number): number {
  let size = Math.min(rows, 500);
  while (rows % size !== 0) size -= 1;
  return size;
}
