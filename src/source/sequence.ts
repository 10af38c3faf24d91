import { EMPTY, catchError, concat, defer, map, switchMap, type Observable, filter, of } from 'rxjs';
import { itemAt, SourceError, type Consistency } from '../core/index.js';
import { batchOf, pagedBatches, task, withBatch, type Ask, type Page, pageOf } from '../flow/index.js';
import { digestOf } from '../vector/index.js';
import { LinkedPages } from './linked-pages.js';
import { unlessRefused } from './failures.js';
import { windowOf, type ReadingOptions } from './options.js';
import { endWait } from './end.js';
import { warn, type ListReader } from './paging.js';
import { evenly, maxProbes } from './probes.js';
import { SeenRows, namesOf } from './seen-rows.js';
import { ReadProgress } from './read-progress.js';
import { defaults } from '../options/index.js';
import { Gaps } from './passes.js';

/** Maximum times that a read continues after an end that was not one. */
const maxReturns = 10;

/**
 * Reads a list whose pages have no numbers: each points to the next, so they are requested one after another.
 *
 * The end is what the service reports: rows cannot be counted from outside. Only the end itself, single pages, and the whole list can be re-checked.
 */
export class SequentialRead {
  readonly #linked: LinkedPages;
  readonly #progress = new ReadProgress();
  readonly #seen: SeenRows | undefined;
  readonly #digests: number[] = [];
  readonly #sizes: number[] = [];
  /** Digests of pages. */
  readonly #known = new Set<number>();
  readonly #key: readonly string[];
  #distinct = 0;
  #drifted = false;
  /** How often the read continued after its end. */
  #returns = 0;

  constructor(
    private readonly reader: ListReader,
    private readonly options: ReadingOptions,
    private readonly consistency: Consistency,
  ) {
    this.#key = reader.collection.key;
    this.#seen = consistency.mode === 'off' ? undefined : new SeenRows();
    this.#linked = this.#linkedPages('page');
  }

  /** Emits the pages of the list, and the rows that were missed. */
  pages(): Observable<Page> {
    return concat(
      this.#crawl(),
      defer(() => {
        this.consistency.counted = 'none';
        this.options.onEnd?.(() => task((ask) => this.#goesOn(ask)));
        return this.consistency.mode === 'off' ? EMPTY : this.#checks();
      }),
    );
  }

  #linkedPages(purpose: 'page' | 'probe'): LinkedPages {
    return new LinkedPages(this.reader, { purpose, maxPages: this.options.maxPages, patience: Math.max(10, windowOf(this.options)) });
  }

  #crawl(): Observable<Page> {
    return pagedBatches((number) => this.#linked.page(number), {
      name: this.reader.collection.name,
      window: windowOf(this.options),
      concurrency: 1,
      firstPage: 1,
      confirmEnd: () => task((ask) => this.#confirm(ask)),
    }).pipe(map((page) => this.#keep(page)));
  }

  /** Processes a page of the list, and returns it with only its new rows. */
  #keep(page: Page): Page {
    const batch = batchOf(page);
    const names = namesOf(batch, this.#key);
    const { known } = this.#progress.take(page.number, batch, names);
    this.#digests[page.number - 1] = digestOf(names);
    this.#sizes[page.number - 1] = batch.length;
    const all = Array.from({ length: batch.length }, (_, row) => row);
    const sighting = this.#seen?.take(batch, names);
    const isFresh = new Set(sighting?.fresh ?? all.slice(known));
    const read = all.filter((row) => row >= known || isFresh.has(row));
    this.options.onPage?.(read.length === batch.length ? page : withBatch(page, batch.take(read)));
    this.consistency.duplicates += read.length - isFresh.size;
    if (sighting) {
      this.consistency.changed += known === 0 ? sighting.changed : 0;
      this.#distinct += sighting.distinct;
      if (sighting.repeats.some(({ row }) => row >= known)) this.#drift(`page ${page.number} has rows that were read before`);
    }
    if (known === 0) this.#linked.notice(sighting ? sighting.fresh.length : this.#isKnown(page.number) ? 0 : batch.length);
    return isFresh.size === batch.length ? page : withBatch(page, batch.take([...isFresh]));
  }

  /** Re-checks the end, after a wait if there are no rows or fewer than before. @returns The page to continue with. */
  async #confirm(ask: Ask): Promise<number | undefined> {
    const { rows } = this.#progress;
    if (rows === 0 || rows < (this.options.expectedRows ?? 0))
      await endWait(this.reader.collection.name, this.options, this.consistency)(ask, rows);
    if ((await this.#goesOn(ask)) && this.#returns < maxReturns) {
      this.#returns += 1;
      return this.#linked.reopen();
    }
    this.consistency.growing = this.#returns >= maxReturns;
    await this.#refuseBlindEnd(ask);
    return undefined;
  }

  /** Returns whether the answer that ended the list now has other rows, or a page after it. */
  async #goesOn(ask: Ask): Promise<boolean> {
    const { number, answer$ } = this.#linked.endAgain();
    const again = await ask(answer$);
    if (again === undefined) {
      this.#uncheck(`the end: the service refuses page ${number} a second time`);
      return false;
    }
    const names = namesOf(again.batch, this.#key);
    const before = this.#digests[number - 1];
    const isSame = before === undefined ? names.length === 0 : digestOf(names) === before;
    if (again.next !== undefined) return true;
    if (isSame) return false;
    const { last } = this.#progress;
    if (before === undefined || last === undefined || names.length > last.rows) return true;
    this.#drift(`page ${number} has changed`);
    return false;
  }

  /**
   * Checks a list of one full page, which may have a link to more rows in an unexpected place: with a page one row shorter, there must be a second one.
   *
   * @throws {SourceError} `E_SOURCE_CURSOR` if there is still none.
   */
  async #refuseBlindEnd(ask: Ask): Promise<void> {
    const { rows, pages } = this.#progress;
    if (pages !== 1 || rows < 2) return;
    const { name, served } = this.reader.collection;
    const shorter = await ask(this.reader.request({ page: 1, limit: rows - 1, purpose: 'probe' }).pipe(catchError(unlessRefused)));
    if (shorter?.next !== undefined) return;
    if (shorter?.batch.length !== rows - 1)
      return this.#uncheck('that one page is the whole list: the service does not honour the page size');
    const where = served?.paging.scheme === 'link' ? 'link' : 'cursor';
    const message = `${name}: requested ${rows - 1} of its rows, and the service returned them without a ${where} to the others`;
    throw new SourceError('E_SOURCE_CURSOR', 'permanent', message);
  }

  /** Returns whether an earlier page had the same rows, for reads that do not store keys. */
  #isKnown(number: number): boolean {
    const digest = itemAt(this.#digests, number - 1);
    const isKnown = this.#known.has(digest);
    this.#known.add(digest);
    return isKnown;
  }

  #drift(what: string): void {
    this.#drifted = true;
    if (this.consistency.drift.length < maxProbes) this.consistency.drift.push(what);
  }

  #uncheck(what: string): void {
    const { unchecked = [] } = this.consistency;
    if (!unchecked.includes(what)) this.consistency.unchecked = [...unchecked, what];
  }

  #checks(): Observable<Page> {
    const { consistency } = this;
    return task(async (ask) => {
      this.#uncheck('the number of rows: the list has no page numbers, so its end is what the service says');
      if (consistency.mode !== 'prove') await this.#probePages(ask);
      consistency.outcome = this.#drifted ? 'drifted' : 'stable';
      return consistency.mode === 'prove' || (consistency.mode === 'repair' && this.#drifted);
    }).pipe(switchMap((needed) => (needed ? this.#passes() : EMPTY)));
  }

  #passes(): Observable<Page> {
    if (!this.#seen) return EMPTY;
    const { reader, options, consistency } = this;
    return new SequentialPasses({
      reader,
      options,
      consistency,
      seen: this.#seen,
      distinct: this.#distinct,
      pages: this.#progress.pages,
      drifted: this.#drifted,
      linkedPages: () => this.#linkedPages('probe'),
    }).pages();
  }

  async #probePages(ask: Ask): Promise<void> {
    const pages = this.#digests.map((digest, index) => ({ number: index + 1, digest, rows: itemAt(this.#sizes, index) }));
    // A page that is shorter than others and not the last may have lost rows.
    const short = pages.slice(0, -1).filter(({ rows }) => rows < this.#progress.largest);
    for (const { number, digest } of new Set([...evenly(short, maxProbes), ...evenly(pages, maxProbes)])) {
      const again = await ask(this.#linked.again(number));
      this.consistency.probes += 1;
      if (again === undefined) return this.#refusedAgain(number);
      if (digestOf(namesOf(again.batch, this.#key)) !== digest) this.#drift(`page ${number} has changed`);
    }
    for (const { number, answer$ } of evenly(this.#linked.emptyAgain, maxProbes)) {
      const again = await ask(answer$);
      this.consistency.probes += 1;
      if (again && again.batch.length > 0) this.#drift(`a response before page ${number} had no rows, but has some now`);
    }
  }

  /** Some services accept a cursor only once. */
  #refusedAgain(number: number): void {
    this.#uncheck(`pages after the first: the service refuses the cursor of page ${number} a second time`);
    warn(this.options, {
      code: 'W_SOURCE_UNCHECKED',
      message: `${this.reader.collection.name}: page ${number} cannot be requested again, so it is not known whether the list changed; consistency: prove reads it again`,
    });
  }
}

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
class SequentialPasses {
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
