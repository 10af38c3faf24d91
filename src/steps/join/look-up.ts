import { defaultIfEmpty, defer, map, NEVER, takeUntil } from 'rxjs';
import { isAddressable, type Row } from '../../core/index.js';
import { batchOf, gather, mapPagesAsync, withBatch, type Page, type Step, type StepContext } from '../../flow/index.js';
import { batchFromRows, keysOf } from '../../vector/index.js';
import type { Lookup } from '../step.js';
import { assembly, type Meeting } from './assemble.js';
import { GrowingBuildSide } from './build-side.js';
import { comparedBy } from './pick.js';
import { Records } from './records.js';

/** Number of pages whose records are requested at once, so that requests do not wait for the last ones of a page. */
const pagesAtOnce = 2;

/** How rows are matched with single records. */
export interface LookUpOptions extends Meeting {
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
