import { catchError, defaultIfEmpty, defer, map, NEVER, of, takeUntil } from 'rxjs';
import { isAddressable, itemAt, SourceError, type Row } from '../../core/index.js';
import { batchOf, gather, LookupCache, mapPagesAsync, withBatch, type Page, type Step } from '../../flow/index.js';
import { batchFromRows, keyOf, keysOf, Unfit } from '../../vector/index.js';
import { keptRows } from '../evaluation.js';
import { casefold } from '../fields.js';
import type { Lookup, StepRuntime } from '../step.js';
import { comparedBy, GrowingBuildSide, type Matching } from './build-side.js';

/** Number of pages whose records are requested at once, so that requests do not wait for the last ones of a page. */
const pagesAtOnce = 2;

const mostRecords = 10_000;

/**
 * Joins by requesting single records, page by page, in the order of the pages. Identifiers that no path can contain (made of dots, or invalid
 * Unicode) match nothing and are not sent. A record is not requested again while its request is under way or its answer cached.
 *
 * Memory: the kept fields of the records of the 10,000 identifiers used last, and of two pages.
 *
 * @param matching With a single pair: the field that contains the identifier of a record, and that of the record.
 */
export function lookingUp(lookup: Lookup, matching: Matching, context: StepRuntime): Step {
  const { select, pick, key = [] } = matching;
  const [left, id] = itemAt(Object.entries(matching.on), 0);
  const { at, tally, onError = 'reject', stopped$ = NEVER } = context;
  const kept = [...new Set([id, ...select, ...comparedBy(pick), ...key])];

  /** Empties a page of which later steps need no more rows, so that its records are not requested. */
  function leftOut(page: Page): Page {
    const batch = batchOf(page);
    tally.beyondLimit += batch.length;
    return withBatch(page, batch.take([]));
  }

  /** Treats rows whose identifier the service refuses like rows with an unfit value. @param reasons By identifier. */
  function withoutRefused(page: Page, reasons: ReadonlyMap<string, string>): Page {
    if (reasons.size === 0) return page;
    const batch = batchOf(page);
    const keyAt = keysOf(batch, [left]);
    const outcomes = new Map([[left, { vector: batch.column(left), unfit: (row: number) => reasons.get(keyAt(row) ?? '') }]]);
    const rows = keptRows({ page: page.number, batch }, outcomes, onError, context);
    return rows === undefined ? page : withBatch(page, batch.take(rows));
  }

  return (pages$) =>
    defer(() => {
      const { counts } = lookup;
      const find = (wanted: string) => {
        counts.requests += 1;
        return lookup.find(wanted).pipe(
          map((records) => {
            const found = withId(at, wanted, id, records);
            if (found.length === 0) counts.misses += 1;
            return found.map((record) => Object.fromEntries(kept.map((field) => [field, record[field] ?? null])));
          }),
          catchError((failure: unknown) => of(unfit(failure))),
        );
      };
      const recent = new LookupCache(find, mostRecords);
      const recordsOf = ([wanted, rows]: readonly [string, number]) =>
        defer(() => {
          counts.hits += recent.has(wanted) ? rows : rows - 1;
          return recent.of(wanted);
        });
      function joined(page: Page) {
        const wanted = [...wantedIn(page, left)];
        return gather(wanted, recordsOf, lookup.concurrency).pipe(
          map((found): Page => {
            const side = new GrowingBuildSide(matching);
            side.add(batchFromRows(found.flatMap((records) => (records instanceof Unfit ? [] : records))));
            const reasons = found.flatMap((each, index) =>
              each instanceof Unfit ? [[itemAt(wanted, index)[0], each.reason] as const] : [],
            );
            return side.finish(context)(withoutRefused(page, new Map(reasons)));
          }),
          takeUntil(stopped$),
          defaultIfEmpty(undefined),
          map((made) => made ?? leftOut(page)),
        );
      }

      return pages$.pipe(mapPagesAsync(joined, pagesAtOnce, at));
    });
}

/** The service refuses one identifier, not the lookup as a whole. @throws Any other failure. */
function unfit(failure: unknown): Unfit {
  const { status = 0 } = failure instanceof SourceError ? failure : {};
  if (![400, 414, 422].includes(status)) throw failure;
  return new Unfit(`is an identifier that the service refuses (HTTP ${status})`);
}

function wantedIn(page: Page, field: string): ReadonlyMap<string, number> {
  const batch = batchOf(page);
  const keyAt = keysOf(batch, [field]);
  const wanted = new Map<string, number>();
  for (let row = 0; row < batch.length; row += 1) {
    const id = keyAt(row);
    if (id !== undefined && isAddressable(id)) wanted.set(id, (wanted.get(id) ?? 0) + 1);
  }
  return wanted;
}

/**
 * Returns the records with an identifier. A service may ignore its case, which a join does not. One that returns other records has not understood the path.
 *
 * @throws {SourceError} `E_SOURCE_ANSWER` for records that were not requested.
 */
function withId(at: string, wanted: string, id: string, records: readonly Row[]): readonly Row[] {
  const idOf = (record: Row) => keyOf([record[id] ?? null]);
  if (records.some((record) => casefold(idOf(record) ?? '') !== casefold(wanted))) {
    const message = `${at}: the service was asked for a single record and returned others; use lookup: preload`;
    throw new SourceError('E_SOURCE_ANSWER', 'permanent', message);
  }
  return records.filter((record) => idOf(record) === wanted);
}
