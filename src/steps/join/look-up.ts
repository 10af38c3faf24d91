import { defaultIfEmpty, defer, map, NEVER, takeUntil, type Observable } from 'rxjs';
import { isAddressable, SourceError, type Row } from '../../core/index.js';
import { batchOf, gather, LookupCache, mapPagesAsync, withBatch, type Page, type Step, type StepContext } from '../../flow/index.js';
import { batchFromRows, keyOf, keysOf } from '../../vector/index.js';
import { casefold } from '../fields.js';
import type { Lookup } from '../step.js';
import { assembly, type Matching } from './assemble.js';
import { comparedBy, GrowingBuildSide } from './build-side.js';

/** Number of pages whose records are requested at once, so that requests do not wait for the last ones of a page. */
const pagesAtOnce = 2;

/** How rows are matched with single records. */
export interface LookUpOptions extends Matching {
  /** The field of the rows that contains the identifier of a record. */
  readonly left: string;
  /** The field of the records that contains it. */
  readonly id: string;
}

/**
 * Joins by requesting single records, page by page, in the order of the pages. Identifiers that no path can contain (made of dots, or invalid
 * Unicode) match nothing and are not sent.
 *
 * Memory: as `Records`, and the records of two pages.
 */
export function lookingUp(lookup: Lookup, options: LookUpOptions, context: StepContext): Step {
  const { left, id, select, pick, key = [] } = options;
  // An existing field with the name of an added one is undeclared by the service: it is left out.
  const { assembling, build } = assembly(options, context, () => {});
  const { tally, stopped$ = NEVER } = context;
  const kept = [...new Set([id, ...select, ...comparedBy(pick), ...key])];

  /** Empties a page of which later steps need no more rows, so that its records are not requested. */
  function leftOut(page: Page): Page {
    const batch = batchOf(page);
    tally.beyondLimit += batch.length;
    return withBatch(page, batch.take([]));
  }

  return (pages$) =>
    defer(() => {
      const records = new Records(context.at, lookup, id, kept);
      let atWork = 0;
      const working = (change: number) => context.working?.((atWork += change) > 0);

      function joined(page: Page) {
        working(1);
        return gather([...wantedIn(page, left)], ([wanted, rows]) => records.of(wanted, rows), lookup.concurrency).pipe(
          map((found): Page => {
            const side = new GrowingBuildSide(build);
            side.add(batchFromRows(found.flat()));
            return assembling<Row, Row>(side.finish())(page);
          }),
          takeUntil(stopped$),
          defaultIfEmpty(undefined),
          map((made) => {
            working(-1);
            return made ?? leftOut(page);
          }),
        );
      }

      return pages$.pipe(mapPagesAsync(joined, pagesAtOnce, context.at));
    });
}

/** Returns the identifiers in the rows of a page, with the number of rows for each. */
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

/** Number of identifiers whose records are cached. */
const most = 10_000;

/**
 * The records of a collection by identifier. A record is not requested again while its request is under way or its answer cached.
 *
 * Memory: the kept fields of the records of the 10,000 identifiers used last.
 */
class Records {
  readonly #recent = new LookupCache((id: string) => this.#ask(id), most);

  /**
   * @param at Name of the step in messages.
   * @param id Field that contains the identifier.
   * @param kept Fields to keep.
   */
  constructor(
    private readonly at: string,
    private readonly lookup: Lookup,
    private readonly id: string,
    private readonly kept: readonly string[],
  ) {}

  /**
   * Returns the records with an identifier.
   *
   * @param rows Number of rows that need them.
   * @throws {SourceError} From the stream: whatever `Lookup.find` throws, and `E_SOURCE_ANSWER` for records that were not requested.
   */
  of(id: string, rows: number): Observable<readonly Row[]> {
    return defer(() => {
      this.lookup.counts.hits += this.#recent.has(id) ? rows : rows - 1;
      return this.#recent.of(id);
    });
  }

  #ask(id: string): Observable<readonly Row[]> {
    const { counts, find } = this.lookup;
    counts.requests += 1;
    return find(id).pipe(
      map((records) => {
        const found = this.#withId(id, records);
        if (found.length === 0) counts.misses += 1;
        return found;
      }),
    );
  }

  /** A service may ignore the case of ids, which a join does not. One that returns other records has not understood the path. */
  #withId(id: string, records: readonly Row[]): readonly Row[] {
    const idOf = (record: Row) => keyOf([record[this.id] ?? null]);
    if (records.some((record) => casefold(idOf(record) ?? '') !== casefold(id))) {
      const message = `${this.at}: the service was asked for a single record and returned others; use lookup: preload`;
      throw new SourceError('E_SOURCE_ANSWER', 'permanent', message);
    }
    return records
      .filter((record) => idOf(record) === id)
      .map((record) => Object.fromEntries(this.kept.map((field) => [field, record[field] ?? null])));
  }
}
