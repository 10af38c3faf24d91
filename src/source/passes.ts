import { EMPTY, catchError, concat, defer, filter, map, of, switchMap, takeWhile, throwError, type Observable } from 'rxjs';
import { defaults } from '../options/index.js';
import { batchOf, pageOf, pagedBatches, task, type Ask, type Page } from '../flow/index.js';
import type { Consistency } from '../core/index.js';
import type { EndOfList } from './end.js';
import { isViolation, type ListReader } from './paging.js';
import { openPaged, type Pages } from './list.js';
import { windowOf } from './options.js';
import { namesOf, type Reading, type SeenRows, ReadProgress } from './seen-rows.js';
import type { RecordBatch } from '../vector/index.js';

/** The results of the first read of a list. */
export interface FirstRead extends Pick<Reading, 'reader' | 'options' | 'consistency' | 'distinct' | 'drifted'> {
  readonly list: Pages;
  readonly seen: SeenRows;
  /** Rows read, and how many of them were repeated. */
  readonly rows: number;
  readonly repeated: number;
  /** Number of the last page. */
  readonly lastNumber: number;
  /** Creates the check for the end of a pass. */
  readonly endOf: (list: Pages, progress: ReadProgress) => EndOfList;
  /** Returns the current number of rows of the list, near a guess; `undefined` if it cannot be counted. */
  readonly count: (guess: number) => Observable<number | undefined>;
}

/** The results of one pass over a list. */
class Pass {
  readonly progress = new ReadProgress();
  readonly gaps = new Gaps();
  repeated = 0;
  distinct = 0;
  /** Rows that no earlier read found. */
  missed = 0;
  /** Whether it was abandoned, since the list grows as fast as it is read. */
  isEndless = false;
  /** The check of its end. */
  end: { readonly counted: boolean | undefined } | undefined;
  /** Rows per page. */
  limit = 0;
}

/** Further passes over a list, which emit the rows missed so far, until a pass misses nothing. */
export class Passes {
  /** Number of consecutive passes that missed nothing. */
  #clean = 0;
  #lastNumber: number;
  /** The results of the previous read, and the maximum number of keys in any read. */
  #before: { readonly rows: number; readonly repeated: number; readonly distinct: number };
  #maxKeys: number;
  /** For an unordered list: its rows, the place since which that many distinct keys must be seen, and how many were. */
  readonly #whole = { rows: undefined as number | undefined, since: 0, keys: 0 };

  constructor(private readonly first: FirstRead) {
    this.#lastNumber = first.lastNumber;
    this.#before = first;
    this.#maxKeys = first.distinct;
  }

  /** Emits the rows that the passes find, on pages numbered after the last one. */
  pages(): Observable<Page> {
    return this.#from(1);
  }

  #from(number: number): Observable<Page> {
    return defer(() => {
      this.first.seen.beginPass();
      const pass = new Pass();
      const missed$ = this.#listed(number, pass).pipe(
        map((page) => this.#missedOn(page, pass)),
        filter((page) => page !== undefined),
      );
      const next$ = task((ask) => this.#judge(ask, number, pass)).pipe(switchMap((goOn) => (goOn ? this.#from(number + 1) : EMPTY)));
      return concat(missed$, next$);
    });
  }

  /** Reads the pages of one pass, with its own limit. */
  #listed(number: number, pass: Pass): Observable<Page> {
    const { reader, list, options, endOf } = this.first;
    const { firstPage } = list;
    const opened = (limit: number) => openPaged(resized(reader, limit), limit, { firstPage });
    return opened(otherLimit(list.limit, number)).pipe(
      // A service may accept only some page sizes.
      catchError((error: unknown) => (isViolation(error) ? opened(list.limit) : throwError(() => error))),
      switchMap((resizedList) => {
        const end = endOf(resizedList, pass.progress);
        pass.end = end;
        pass.limit = resizedList.limit;
        const maxRows = 3 * this.first.rows + 10 * list.limit;
        return pagedBatches((page) => resizedList.page(page).pipe(map(({ batch }) => batch)), {
          name: reader.collection.name,
          window: windowOf(options),
          concurrency: options.concurrency,
          firstPage,
          confirmEnd: (claim) => (pass.isEndless ? of(undefined) : end.confirm(claim)),
        }).pipe(
          takeWhile((page) => {
            pass.isEndless = pass.progress.rows > maxRows;
            if (pass.isEndless) page.lease.release();
            return !pass.isEndless;
          }),
        );
      }),
    );
  }

  /** Returns the unknown rows of a page, if any. */
  #missedOn(page: Page, pass: Pass): Page | undefined {
    const { reader, seen, consistency } = this.first;
    const batch = batchOf(page);
    const names = namesOf(batch, reader.collection.key);
    const { known } = pass.progress.take(page.number, batch, names);
    const sighting = seen.take(batch, names, (before) => {
      if (before <= this.#whole.since) this.#whole.keys += 1;
    });
    pass.repeated += sighting.repeats.filter(({ row }) => row >= known).length;
    pass.distinct += sighting.distinct;
    pass.missed += sighting.fresh.length;
    pass.gaps.take(known, batch.length, sighting.fresh);
    consistency.changed += sighting.changed;
    if (sighting.fresh.length === 0) {
      page.lease.release();
      return undefined;
    }
    consistency.repaired += sighting.fresh.length;
    this.#lastNumber += 1;
    return pageOf(this.#lastNumber, batch.take(sighting.fresh), page.lease);
  }

  /** Sets the outcome when the passes are done. @returns Whether another pass is needed. */
  async #judge(ask: Ask, number: number, pass: Pass): Promise<boolean> {
    const { consistency, options, seen } = this.first;
    consistency.passes = number;
    consistency.unordered ||= seen.moved() > maxMoved;
    if (consistency.unordered ? await this.#isWhole(ask) : await this.#isClean(ask, number, pass)) return false;
    const most = options.maxPasses ?? (consistency.unordered ? defaults.maxPassesUnordered : defaults.maxPasses);
    const countable = !consistency.unordered || this.#whole.rows !== undefined;
    if (number < most && countable) return true;
    consistency.outcome = 'unstable';
    return false;
  }

  /** Returns whether enough consecutive passes for the mode missed nothing. */
  async #isClean(ask: Ask, number: number, pass: Pass): Promise<boolean> {
    const { consistency, drifted, repeated, rows } = this.first;
    const proving = consistency.mode === 'prove';
    const clean = !pass.isEndless && !pass.gaps.found && this.#isLikeBefore(pass) && (await this.#isAllOf(ask, pass));
    this.#before = { rows: pass.progress.rows, repeated: pass.repeated, distinct: pass.distinct };
    this.#maxKeys = Math.max(this.#maxKeys, pass.distinct);
    this.#clean = clean ? this.#clean + 1 : 0;
    if (this.#clean < passesNeeded(consistency, pass.distinct, this.#maxKeys)) return false;
    // The same rows repeated again: the list contains them twice.
    const same = number === 1 && consistency.repaired === 0 && pass.repeated === repeated && pass.progress.rows === rows;
    consistency.outcome = proving ? 'proven' : same && !drifted ? 'stable' : 'repaired';
    return true;
  }

  /**
   * Returns whether a pass is plausible. One that found fewer keys than the previous read hit an outage. One that found repeated keys while
   * the list kept its length has skipped as many others, unless the list contains them twice: then just as many were repeated before, and
   * no new row was found.
   */
  #isLikeBefore(pass: Pass): boolean {
    const { rows, distinct, repeated } = this.#before;
    const lost = distinct - this.first.seen.inCommon;
    const isTwice = pass.repeated === repeated && pass.missed === 0;
    const isExplained = pass.repeated === 0 || pass.progress.rows !== rows || isTwice;
    return isExplained && lost <= slackOf(distinct) && pass.distinct * 2 >= this.#maxKeys;
  }

  /** Returns whether the pages of a pass reach the last row of the list, as far as rows can be counted. */
  async #isAllOf(ask: Ask, pass: Pass): Promise<boolean> {
    const { rows, last } = pass.progress;
    if (pass.end?.counted !== false || !last) return true;
    const now = await ask(this.first.count(rows));
    // Some services leave rows out of a page but count them.
    const passed = (last.number - this.first.list.firstPage + 1) * pass.limit;
    return now === undefined || now <= passed + slackOf(rows);
  }

  /** Returns whether as many distinct keys of an unordered list were seen as it has rows, since that number last changed. */
  async #isWhole(ask: Ask): Promise<boolean> {
    const { consistency, count, seen } = this.first;
    const whole = this.#whole;
    const rows = await ask(count(whole.rows ?? this.first.rows));
    if (rows !== whole.rows) {
      Object.assign(whole, { rows, since: seen.place, keys: 0 });
      return false;
    }
    if (rows === undefined || whole.keys < rows) return false;
    consistency.outcome = consistency.mode === 'prove' ? 'proven' : 'repaired';
    return true;
  }
}

/**
 * Returns how many consecutive passes must miss nothing. Where passes find fewer keys than an earlier read did, they may all be part of one
 * outage: more of them must agree before the list is taken to have shrunk.
 */
function passesNeeded({ mode }: Consistency, keys: number, maxKeys: number): number {
  if (keys < maxKeys - slackOf(maxKeys)) return 4;
  return mode === 'prove' ? 2 : 1;
}

type LinkedList = { page(number: number): Observable<RecordBatch>; notice(isStale: boolean): void };

/** The results of the first read of a list without page numbers. */
interface FirstSequentialRead extends Pick<FirstRead, 'reader' | 'options' | 'consistency' | 'seen' | 'distinct' | 'drifted'> {
  readonly pages: number;
  /** Opens the list from its beginning; `notice` receives whether a page had no new row. */
  readonly linkedPages: () => LinkedList;
}

/** Further passes over a list without page numbers, which emit the rows missed so far. */
export class SequentialPasses {
  /** Distinct keys of the previous read, and the maximum number in any read. */
  #distinct: number;
  #maxKeys: number;
  #pages: number;
  /** Number of consecutive passes that missed nothing. */
  #clean = 0;

  constructor(private readonly first: FirstSequentialRead) {
    this.#distinct = first.distinct;
    this.#maxKeys = first.distinct;
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

  #missedOn(page: Page, pass: { readonly gaps: Gaps; distinct: number }, list: LinkedList): Page | undefined {
    const { reader, seen, consistency } = this.first;
    const batch = batchOf(page);
    const { fresh, distinct, changed } = seen.take(batch, namesOf(batch, reader.collection.key));
    list.notice(distinct === 0);
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
    const isClean = !pass.gaps.found && lost <= slackOf(this.#distinct);
    this.#distinct = pass.distinct;
    this.#maxKeys = Math.max(this.#maxKeys, pass.distinct);
    this.#clean = isClean ? this.#clean + 1 : 0;
    if (this.#clean >= passesNeeded(consistency, pass.distinct, this.#maxKeys)) {
      const isStill = !drifted && consistency.repaired === 0;
      consistency.outcome = mode === 'prove' ? 'proven' : isStill ? 'stable' : 'repaired';
      return false;
    }
    if (number < (options.maxPasses ?? defaults.maxPasses)) return true;
    consistency.outcome = 'unstable';
    return false;
  }
}

/** Maximum share of common keys out of sequence between two passes over an ordered list. */
const maxMoved = 0.01;

/** Returns how many rows a list may gain or lose between two passes. */
function slackOf(rows: number): number {
  return Math.max(3, rows * 0.01);
}

/** Detects missed rows: new rows at the head or the tail of a list were added, one between two known rows was missed. */
class Gaps {
  found = false;
  #known = false;
  #pending = false;

  /** Processes the rows of a page from an index. */
  take(from: number, rows: number, missed: readonly number[]): void {
    const isMissed = new Set(missed);
    for (let row = from; row < rows; row += 1) {
      if (isMissed.has(row)) this.#pending ||= this.#known;
      else {
        this.found ||= this.#pending;
        this.#known = true;
      }
    }
  }
}

/** Returns a reader of the same list with another page size, whose requests are only probes. */
function resized(reader: ListReader, limit: number): ListReader {
  return {
    ...reader,
    collection: { ...reader.collection, paged: true },
    limit,
    request: (asked) => reader.request({ limit, ...asked, purpose: 'probe' }),
  };
}

/**
 * Returns the page size of a further pass: a different one each time, so that page borders fall elsewhere. Primes below the limit come
 * first, since they share no borders with each other.
 */
function otherLimit(limit: number, pass: number): number {
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
