import { EMPTY, concat, concatMap, defer, from, ignoreElements, map, tap, type Observable } from 'rxjs';
import type { Row } from '../collections/index.js';
import { pickFrom, rowAt, Table, type Content } from '../columnar/index.js';
import { contentDigest, rowDigest, tableDigests } from './content-digest.js';
import { KeySet } from './key-set.js';
import { contentOf, pageOf, withRows, type Page } from './page.js';
import { keyIn } from './row-key.js';

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
  /** Columns that together identify a row; one that lacks them is identified by all that it has. */
  readonly key: readonly string[];
  /** The rows of a page of the list, read again. */
  readonly reread: (page: number) => Observable<Content<T>>;
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
  const { key, reread, pass, maxPasses } = options;

  return defer(() => {
    const keys = new KeySet();
    const looks = new Map<number, number>();
    let last = 0;

    /** Remembers the rows of a page by their keys. @returns Indexes of those that were not known. */
    function remember(content: Content<T>, names: readonly string[]): readonly number[] {
      const digests = digestsOf(content);
      const unknown: number[] = [];
      for (let row = 0; row < names.length; row += 1) {
        const seen = keys.seeDigest(names[row] ?? '', digests[row] ?? 0);
        if (seen === 'changed') consistency.changed += 1;
        else if (seen === 'new') unknown.push(row);
      }
      return unknown;
    }

    const probes$ = defer(() => {
      consistency.outcome = 'stable';
      return from(evenly([...looks.keys()], mostProbes)).pipe(
        concatMap((number) => reread(number).pipe(map((content) => contentDigest(namesOf(content, key)) === looks.get(number)))),
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
      function judge(rows: number, missed: ReadonlySet<number>): void {
        for (let row = 0; row < rows; row += 1) {
          if (missed.has(row)) pending ||= known;
          else {
            gap ||= pending;
            known = true;
          }
        }
      }

      const missed$ = pass(number).pipe(
        concatMap((page) => {
          const content = contentOf(page);
          const missed = remember(content, namesOf(content, key));
          judge(content.length, new Set(missed));
          if (missed.length === 0) {
            page.lease.release();
            return EMPTY;
          }
          consistency.repaired += missed.length;
          last += 1;
          return [pageOf(last, pickFrom(content, missed), page.lease)];
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
        const content = contentOf(page);
        const names = namesOf(content, key);
        looks.set(page.number, contentDigest(names));
        const fresh = remember(content, names);
        consistency.duplicates += content.length - fresh.length;
        return fresh.length === content.length ? page : withRows(page, pickFrom(content, fresh));
      }),
    );
    const passes$ = defer(() =>
      consistency.mode === 'prove' || (consistency.mode === 'repair' && consistency.outcome === 'drifted') ? pass$(1, 0) : EMPTY,
    );
    return concat(checked$, consistency.mode === 'prove' ? EMPTY : probes$, passes$);
  });
}

/** What rows are told apart by. */
function namesOf<T extends Row>(content: Content<T>, key: readonly string[]): readonly string[] {
  const nameAt = keyIn(content, key);
  return Array.from({ length: content.length }, (_, row) => nameAt(row) ?? JSON.stringify(rowAt(content, row)));
}

function digestsOf<T extends Row>(content: Content<T>): ArrayLike<number> {
  return content instanceof Table ? tableDigests(content) : content.map(rowDigest);
}

/** At most so many of the items, first and last among them, evenly spaced. */
function evenly<I>(items: readonly I[], most: number): readonly I[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter((item) => item !== undefined);
}
