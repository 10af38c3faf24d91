import { EMPTY, concat, defer, filter, map, of, switchMap, takeWhile, type Observable } from 'rxjs';
import { defaults } from '../options/index.js';
import { batchOf, type ListEnd, pageOf, type PagedList, pagedBatches, task, type Ask, type Page } from '../flow/index.js';
import type { Consistency } from '../core/index.js';
import type { RecordBatch } from '../vector/index.js';
import { windowOf } from './options.js';
import { type FirstRead, ReadProgress, type ReadRows, type SeenRows } from './seen-rows.js';

/** Reads the pages of a list, from a number to the confirmed end. */
export function crawl({ reader, options }: FirstRead, list: PagedList, firstPage?: number): Observable<Page> {
  return pagedBatches(reader.collection.name, list, windowOf(options), firstPage);
}

/** A list and its first read. Pages with numbers give rows positions and counts; otherwise each points to the next. */
export interface List extends PagedList {
  readonly reading: FirstRead;
  readonly numbered: boolean;
  /** The page that the first read begins with. Default: the first one. */
  readonly start?: number;
  readonly counting: Consistency['counted'];
  /** Whether the end must be checked again when all is read. */
  readonly unsettled: boolean;
  take(page: Page, rows: ReadRows): void;
  /** Checks whether the list has rows after its end by now. It emits the page to continue with. */
  lookAgain(): Observable<number | undefined>;
  /** Checks some places again, and records drift. @returns Whether all repeated rows are where they were read. */
  check(ask: Ask): Promise<boolean>;
  /** Requests the current state of a page; emits `undefined` if the service refuses to return it twice. */
  again(page: number): Observable<RecordBatch | undefined>;
  /** Returns the current number of rows, near a guess; `undefined` if it cannot be counted. */
  count?(guess: number): Observable<number | undefined>;
  pass(number: number, progress: ReadProgress): Observable<ListPass>;
}

export interface ListPass extends Pick<PagedList, 'page' | 'confirm'> {
  /** A pass with more rows is abandoned, since the list grows as fast as it is read. Default: no limit. */
  readonly maxRows?: number;
  notice?(isStale: boolean): void;
  /** Returns whether the pages reach the last row of the list, as far as rows can be counted. Default: they do. */
  reachesEnd?(ask: Ask): Promise<boolean>;
}

class Pass {
  readonly progress = new ReadProgress();
  readonly gaps = new Gaps();
  repeated = 0;
  distinct = 0;
  missed = 0;
  isEndless = false;
  list: ListPass | undefined;
}

/** Further passes over a list, which emit the missed rows, until a pass misses nothing. */
export class Passes {
  #clean = 0;
  #lastNumber: number;
  /** The results of the previous read, and the maximum number of keys in any read. */
  #before: Pick<FirstRead, 'progress' | 'repeated' | 'distinct'>;
  #maxKeys: number;
  /** For an unordered list: its rows, the place since which that many distinct keys must be seen, and how many were. */
  readonly #whole = { rows: undefined as number | undefined, since: 0, keys: 0 };

  readonly #first: FirstRead;

  constructor(
    private readonly list: List,
    private readonly seen: SeenRows,
  ) {
    this.#first = list.reading;
    this.#lastNumber = this.#first.progress.last?.number ?? 0;
    this.#before = this.#first;
    this.#maxKeys = this.#first.distinct;
  }

  /** Emits the rows that the passes find, on pages numbered after the last one. */
  pages(number = 1): Observable<Page> {
    return defer(() => {
      this.seen.beginPass();
      const pass = new Pass();
      const missed$ = this.#listed(number, pass).pipe(
        map((page) => this.#missedOn(page, pass)),
        filter((page) => page !== undefined),
      );
      const next$ = task((ask) => this.#judge(ask, number, pass)).pipe(switchMap((goOn) => (goOn ? this.pages(number + 1) : EMPTY)));
      return concat(missed$, next$);
    });
  }

  #listed(number: number, pass: Pass): Observable<Page> {
    return this.list.pass(number, pass.progress).pipe(
      switchMap((list) => {
        pass.list = list;
        const confirm = (end: ListEnd) => (pass.isEndless ? of(undefined) : list.confirm(end));
        const { firstPage, concurrency } = this.list;
        return crawl(this.#first, { firstPage, concurrency, page: (page) => list.page(page), confirm });
      }),
      takeWhile((page) => {
        pass.isEndless = pass.progress.rows > (pass.list?.maxRows ?? Infinity);
        if (pass.isEndless) page.lease.release();
        return !pass.isEndless;
      }),
    );
  }

  #missedOn(page: Page, pass: Pass): Page | undefined {
    const { consistency } = this.#first;
    const batch = batchOf(page);
    const names = this.#first.namesOf(batch);
    this.#first.took(names);
    const { known } = pass.progress.take(page.number, batch, names);
    const { fresh, repeats, conflicts, distinct, changed } = this.seen.take(batch, names, (before) => {
      if (before <= this.#whole.since) this.#whole.keys += 1;
    });
    pass.list?.notice?.(distinct === 0);
    pass.repeated += repeats.filter(({ row }) => row >= known).length;
    pass.distinct += distinct;
    pass.missed += fresh.length;
    pass.gaps.take(known, batch.length, fresh);
    consistency.changed += changed;
    if (consistency.conflicts === 0) this.#first.noteConflicts(batch, conflicts, 'in one answer');
    if (fresh.length === 0) {
      page.lease.release();
      return undefined;
    }
    consistency.repaired += fresh.length;
    this.#lastNumber += 1;
    return pageOf(this.#lastNumber, batch.take(fresh), page.lease);
  }

  /** Sets the outcome after the passes. @returns Whether another pass is needed. */
  async #judge(ask: Ask, number: number, pass: Pass): Promise<boolean> {
    const { consistency, options } = this.#first;
    consistency.passes = number;
    consistency.unordered ||= this.list.numbered && this.seen.moved() > maxMoved;
    const isDone = consistency.unordered ? await this.#isWhole(ask) : await this.#isClean(ask, number, pass);
    if (isDone && !(await this.#first.findUnread(ask))) return false;
    const most = options.maxPasses ?? (consistency.unordered ? defaults.maxPassesUnordered : defaults.maxPasses);
    const countable = !consistency.unordered || this.#whole.rows !== undefined;
    if (number < most && countable) return true;
    consistency.outcome = 'unstable';
    return false;
  }

  /** Returns whether enough consecutive passes for the mode missed nothing. */
  async #isClean(ask: Ask, number: number, pass: Pass): Promise<boolean> {
    const { consistency, blind, drifted, repeated, progress } = this.#first;
    const clean = !pass.isEndless && !pass.gaps.found && this.#isLikeBefore(pass) && (await pass.list?.reachesEnd?.(ask)) !== false;
    this.#before = pass;
    this.#maxKeys = Math.max(this.#maxKeys, pass.distinct);
    this.#clean = clean ? this.#clean + 1 : 0;
    // Fewer keys than before may be a long outage.
    const isFewer = pass.distinct < this.#maxKeys - slackOf(this.#maxKeys);
    if (this.#clean < (isFewer ? 4 : consistency.mode === 'prove' ? 2 : 1)) return false;
    // The same rows repeated again: the list contains them twice.
    const same =
      (number === 1 || blind) && consistency.repaired === 0 && pass.repeated === repeated && pass.progress.rows === progress.rows;
    consistency.outcome = consistency.mode === 'prove' && !blind ? 'proven' : same && !drifted ? 'stable' : 'repaired';
    return true;
  }

  /**
   * Returns whether a pass is plausible. Fewer keys than before are an outage. In a list of the same length, repeated keys stand for as
   * many skipped ones, unless the list contains them twice: then just as many were repeated before, and no new row was found.
   */
  #isLikeBefore(pass: Pass): boolean {
    const { progress, distinct, repeated } = this.#before;
    if (distinct - this.seen.inCommon > slackOf(distinct)) return false;
    if (!this.list.numbered) return true;
    const isTwice = pass.repeated === repeated && pass.missed === 0;
    const isExplained = pass.repeated === 0 || pass.progress.rows !== progress.rows || isTwice;
    return isExplained && pass.distinct * 2 >= this.#maxKeys;
  }

  /** Returns whether as many distinct keys of an unordered list were seen as it has rows, since that number last changed. */
  async #isWhole(ask: Ask): Promise<boolean> {
    const { consistency, progress } = this.#first;
    const whole = this.#whole;
    const rows = this.list.count && (await ask(this.list.count(whole.rows ?? progress.rows)));
    if (rows !== whole.rows) {
      Object.assign(whole, { rows, since: this.seen.place, keys: 0 });
      return false;
    }
    if (rows === undefined || whole.keys < rows) return false;
    consistency.outcome = consistency.mode === 'prove' ? 'proven' : 'repaired';
    return true;
  }
}

/** Maximum share of common keys out of sequence between two passes over an ordered list. */
const maxMoved = 0.01;

export function slackOf(rows: number): number {
  return Math.max(3, rows * 0.01);
}

/** Detects missed rows: those at the head or tail of a list were added, one between two known rows was missed. */
class Gaps {
  found = false;
  #known = false;
  #pending = false;

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
