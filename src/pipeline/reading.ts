import { defer, map, switchMap, tap, type Observable } from 'rxjs';
import { openList, type CollectionReader, type PagingOptions } from '../client/index.js';
import type { Row } from '../collections/index.js';
import { complete, pagedSource, type Consistency, type ConsistencyMode, type Page } from '../flow/index.js';

/** How a collection is read. */
export interface ReadingOptions extends PagingOptions {
  /** Pages in memory at once. Default: twice the concurrency. */
  readonly window?: number | undefined;
  /** Requests in flight at once. Default 4. */
  readonly concurrency?: number | undefined;
  /** How the read is checked for rows that moved while it went on. Default `off`. */
  readonly consistency?: ConsistencyMode | undefined;
  /** Most passes of `repair` and `prove`. Default 8. */
  readonly maxPasses?: number | undefined;
  /** Told of every page of the list as it came, before the check. */
  readonly onPage?: ((page: Page) => void) | undefined;
}

/** What is known of a read before it began. */
export function newConsistency(mode: ConsistencyMode = 'off'): Consistency {
  return { mode, outcome: 'off', probes: 0, passes: 0, repaired: 0, duplicates: 0, changed: 0 };
}

/**
 * The pages of a collection, in page order and checked for completeness.
 *
 * @param consistency Gets what the check finds out.
 */
export function readPages<T extends Row>(
  reader: CollectionReader<T>,
  options: ReadingOptions,
  consistency: Consistency = newConsistency(options.consistency),
): Observable<Page<T>> {
  const { concurrency = 4, maxPasses = 8 } = options;
  const bounds = { window: windowOf(options), concurrency };

  return defer(() => openList(reader, options)).pipe(
    switchMap((list) => {
      const { firstPage, paged, limit } = list;
      const pages$ = pagedSource((page) => list.page(page).pipe(map(({ content }) => content)), { ...bounds, firstPage, paged });
      const list$ = pages$.pipe(tap((page) => options.onPage?.(page)));
      if (!paged) {
        // One answer is one moment: nothing can have moved in between.
        if (consistency.mode !== 'off') consistency.outcome = 'stable';
        return list$;
      }
      const again = (page: number, size: number) =>
        reader.request({ page, limit: size, purpose: 'probe' }).pipe(map(({ content }) => content));
      return complete(list$, consistency, {
        key: reader.collection.key,
        reread: (page) => again(page, limit),
        // Opened like the list itself: a service that repeats its last page does so at any page size.
        pass: (pass) =>
          openList(resized(reader, otherLimit(limit, pass)), { firstPage }).pipe(
            switchMap((other) => pagedSource((page) => other.page(page).pipe(map(({ content }) => content)), { ...bounds, firstPage })),
          ),
        maxPasses,
      });
    }),
  );
}

/** A reader of the same list with another page size, whose requests only check. */
function resized<T>(reader: CollectionReader<T>, limit: number): CollectionReader<T> {
  return {
    ...reader,
    collection: { ...reader.collection, paged: true },
    limit,
    request: (asked) => reader.request({ limit, ...asked, purpose: 'probe' }),
  };
}

/** Pages in memory at once. */
export function windowOf({ concurrency = 4, window = 2 * concurrency }: ReadingOptions): number {
  return window;
}

/**
 * The page size of a further pass: another one each time, so that page borders fall elsewhere. Primes below the limit
 * first, since they share no borders with each other.
 */
export function otherLimit(limit: number, pass: number): number {
  const below = Array.from({ length: limit - 1 }, (_, index) => limit - 1 - index);
  const primes = below.filter(isPrime);
  const candidates = [...primes, ...below.filter((size) => !primes.includes(size))];
  return candidates[(pass - 1) % Math.max(1, candidates.length)] ?? limit;
}

function isPrime(number: number): boolean {
  if (number < 2) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}
