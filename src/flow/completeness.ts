import { EMPTY, concat, concatMap, defer, from, ignoreElements, map, tap, type Observable } from 'rxjs';
import type { Row } from '../collections/index.js';
import { contentDigest, rowDigest } from './content-digest.js';
import { KeySet } from './key-set.js';
import { withRows, type Page } from './page.js';

/**
 * How a read is checked for rows that moved from page to page while it went on: not at all, by reading some pages again
 * (`check`), by further passes when these have changed (`repair`), or by further passes always (`prove`).
 */
export type ConsistencyMode = 'off' | 'check' | 'repair' | 'prove';

/**
 * What the check found: the list did not change (`stable`) or did (`drifted`); what was missed was added (`repaired`), or two
 * passes in a row missed nothing (`proven`); or passes went on finding rows until there were `maxPasses` (`unstable`).
 */
export type ConsistencyOutcome = 'off' | 'stable' | 'drifted' | 'repaired' | 'proven' | 'unstable';

/** What the check did, filled in while the stream runs. */
export interface Consistency {
  readonly mode: ConsistencyMode;
  outcome: ConsistencyOutcome;
  /** Pages that were read again. */
  probes: number;
  passes: number;
  /** Rows that passes added. */
  repaired: number;
  /** Rows of the list that had come before, by key; the first read stays. */
  duplicates: number;
  /** Rows that came again with other content. */
  changed: number;
}

/** Where the check gets its rows from. */
export interface CompletenessOptions<T> {
  /** Text that identifies a row. */
  readonly keyOf: (row: T) => string;
  /** The rows of a page of the list, read again. */
  readonly reread: (page: number) => Observable<readonly T[]>;
  /** The whole list read again, with other page borders than any pass before: `pass` counts from 1. */
  readonly pass: (pass: number) => Observable<Page<T>>;
  readonly maxPasses: number;
}

const mostProbes = 8;

/**
 * Lets a list pass, each row once, and behind its last page those rows that further passes find it missed. What it finds out is
 * written into `consistency` before the stream completes.
 *
 * New rows at the head or the tail of the list, before the first known row or after the last, were added to the list while it
 * was read; they are let through, but do not keep it going.
 *
 * Memory: at most 32 bytes per row, and 8 bytes per page.
 */
export function complete<T extends Row>(
  list$: Observable<Page<T>>,
  consistency: Consistency,
  options: CompletenessOptions<T>,
): Observable<Page<T>> {
  if (consistency.mode === 'off') return list$;
  const { keyOf, reread, pass, maxPasses } = options;

  return defer(() => {
    const keys = new KeySet();
    const looks = new Map<number, number>();
    let last = 0;

    /** Remembers the rows of a page by their keys. @returns Those that were not known. */
    function remember(rows: readonly T[], keysOf: readonly string[]): readonly T[] {
      return rows.filter((row, index) => {
        const seen = keys.seeDigest(keysOf[index] ?? '', rowDigest(row));
        if (seen === 'changed') consistency.changed += 1;
        return seen === 'new';
      });
    }

    const probes$ = defer(() => {
      consistency.outcome = 'stable';
      return from(evenly([...looks.keys()], mostProbes)).pipe(
        concatMap((number) => reread(number).pipe(map((rows) => contentDigest(rows.map(keyOf)) === looks.get(number)))),
        tap((same) => {
          consistency.probes += 1;
          if (!same) consistency.outcome = 'drifted';
        }),
        ignoreElements(),
      );
    });

    function pass$(number: number, clean: number): Observable<Page<T>> {
      let known = false;
      let pending = false;
      let gap = false;

      /** A new row between two known ones is one that was missed. */
      function judge(rows: readonly T[], missed: ReadonlySet<T>): void {
        for (const row of rows) {
          if (missed.has(row)) pending ||= known;
          else {
            gap ||= pending;
            known = true;
          }
        }
      }

      const missed$ = pass(number).pipe(
        concatMap((page) => {
          const missed = remember(page.rows, page.rows.map(keyOf));
          judge(page.rows, new Set(missed));
          if (missed.length === 0) {
            page.lease.release();
            return EMPTY;
          }
          consistency.repaired += missed.length;
          last += 1;
          return [{ ...withRows(page, missed), number: last }];
        }),
      );
      const next$ = defer(() => {
        consistency.passes = number;
        const cleanNow = gap ? 0 : clean + 1;
        if (cleanNow >= (consistency.mode === 'prove' ? 2 : 1)) {
          consistency.outcome = consistency.mode === 'prove' ? 'proven' : 'repaired';
          return EMPTY;
        }
        if (number < maxPasses) return pass$(number + 1, cleanNow);
        consistency.outcome = 'unstable';
        return EMPTY;
      });
      return concat(missed$, next$);
    }

    const checked$ = list$.pipe(
      map((page) => {
        last = Math.max(last, page.number);
        const keysOf = page.rows.map(keyOf);
        looks.set(page.number, contentDigest(keysOf));
        const rows = remember(page.rows, keysOf);
        consistency.duplicates += page.rows.length - rows.length;
        return rows.length === page.rows.length ? page : withRows(page, rows);
      }),
    );
    const passes$ = defer(() =>
      consistency.mode === 'prove' || (consistency.mode === 'repair' && consistency.outcome === 'drifted') ? pass$(1, 0) : EMPTY,
    );
    return concat(checked$, consistency.mode === 'prove' ? EMPTY : probes$, passes$);
  });
}

/** At most so many of the items, first and last among them, evenly spaced. */
function evenly<I>(items: readonly I[], most: number): readonly I[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter((item) => item !== undefined);
}
