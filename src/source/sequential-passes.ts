import { EMPTY, concat, defer, filter, map, of, type Observable } from 'rxjs';
import { defaults } from '../options/index.js';
import { batchOf, pagedBatches, pageOf, type Page } from '../flow/index.js';
import type { LinkedPages } from './linked-pages.js';
import type { Consistency } from '../core/index.js';
import { windowOf, type ReadingOptions } from './options.js';
import type { ListReader } from './paging.js';
import { Gaps } from './passes.js';
import { namesOf, type SeenRows } from './seen-rows.js';

/** The results of the first read of a list. */
interface FirstRead {
  readonly reader: ListReader;
  readonly options: ReadingOptions;
  readonly consistency: Consistency;
  readonly seen: SeenRows;
  /** Number of distinct keys read. */
  readonly distinct: number;
  readonly pages: number;
  readonly drifted: boolean;
  /** Opens the list from its beginning. */
  readonly linkedPages: () => LinkedPages;
}

/** Further passes over a list without page numbers, which emit the rows missed so far. */
export class SequentialPasses {
  /** Distinct keys of the previous read. */
  #distinct: number;
  #pages: number;
  /** Number of consecutive passes that missed nothing. */
  #clean = 0;

  constructor(private readonly first: FirstRead) {
    this.#distinct = first.distinct;
    this.#pages = first.pages;
  }

  /** Emits the rows that the passes find, on pages numbered after the last one. */
  pages(): Observable<Page> {
    return this.#from(1);
  }

  #from(number: number): Observable<Page> {
    const { reader, options, seen, linkedPages } = this.first;
    const pass = { gaps: new Gaps(), distinct: 0 };
    return concat(
      defer(() => {
        seen.beginPass();
        const list = linkedPages();
        return pagedBatches((page) => list.page(page), {
          name: reader.collection.name,
          window: windowOf(options),
          concurrency: 1,
          firstPage: 1,
          confirmEnd: () => of(undefined),
        }).pipe(
          map((page) => this.#missedOn(page, pass, list)),
          filter((page) => page !== undefined),
        );
      }),
      defer(() => (this.#judge(number, pass) ? this.#from(number + 1) : EMPTY)),
    );
  }

  #missedOn(page: Page, pass: { readonly gaps: Gaps; distinct: number }, list: LinkedPages): Page | undefined {
    const { reader, seen, consistency } = this.first;
    const batch = batchOf(page);
    const { fresh, distinct, changed } = seen.take(batch, namesOf(batch, reader.collection.key));
    list.notice(distinct);
    pass.distinct += distinct;
    pass.gaps.take(0, batch.length, fresh);
    consistency.changed += changed;
    if (fresh.length === 0) {
      page.lease.release();
      return undefined;
    }
    consistency.repaired += fresh.length;
    this.#pages += 1;
    return pageOf(this.#pages, batch.take(fresh), page.lease);
  }

  /** Sets the outcome when the passes are done. @returns Whether another pass is needed. */
  #judge(number: number, pass: { readonly gaps: Gaps; readonly distinct: number }): boolean {
    const { consistency, options, seen, drifted } = this.first;
    const { mode } = consistency;
    consistency.passes = number;
    // A pass that found fewer keys than the previous read hit an outage.
    const lost = this.#distinct - seen.inCommon;
    const isClean = !pass.gaps.found && lost <= Math.max(3, this.#distinct * 0.01);
    this.#distinct = pass.distinct;
    this.#clean = isClean ? this.#clean + 1 : 0;
    if (this.#clean >= (mode === 'prove' ? 2 : 1)) {
      const isStill = !drifted && consistency.repaired === 0;
      consistency.outcome = mode === 'prove' ? 'proven' : isStill ? 'stable' : 'repaired';
      return false;
    }
    if (number < (options.maxPasses ?? defaults.maxPasses)) return true;
    consistency.outcome = 'unstable';
    return false;
  }
}
