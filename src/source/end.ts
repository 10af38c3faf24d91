import { catchError, type Observable, timer } from 'rxjs';
import { type Consistency, SourceError } from '../core/index.js';
import { task, type Ask, type ListEnd } from '../flow/index.js';
import { noRows, refused, warn } from './paging.js';
import type { Pages } from './list.js';
import { evenly, fingerprintOf, type LastPage, type FirstRead, type ReadProgress } from './seen-rows.js';
import { defaults } from '../options/index.js';

const maxContinuations = 10;

/**
 * Collects evidence for the end of a list, which an empty page claims, or one that repeats the page before it. It is accepted if a second
 * look agrees and the list can be counted: the last row read is at its position, and none is at the next.
 */
export class EndOfList {
  /** Whether the count agreed; `undefined` if the end was not reached. */
  counted: boolean | undefined;
  counting: NonNullable<Consistency['counted']> = 'none';
  #continuations = 0;
  #rowsAtLastEnd = -1;
  #newAtLastEnd: string | undefined;
  /** How often a page reappeared after the same row. */
  #returns = 0;
  #rowsAtReturn = -1;

  /** Whether it ends the first read; a pass repeats its warnings and changes nothing. */
  readonly #isFirst: boolean;

  constructor(
    private readonly list: Pages,
    private readonly progress: ReadProgress,
    private readonly positions: Positions,
    private readonly reading: FirstRead,
  ) {
    this.#isFirst = progress === reading.progress;
  }

  /** Checks a claim. @returns The page to continue with, or `undefined` if the list ends. */
  confirm(end: ListEnd): Observable<number | undefined> {
    return task(async (ask) => {
      if (this.#mayBeNone(end)) await endWait(this.reading, ask, this.progress.rows);
      // What every accepted end needs is requested together.
      const [second, honoured] = await Promise.all([ask(this.list.again(end.page)), this.progress.last && this.positions.areHonoured(ask)]);
      if (second.length > 0 && fingerprintOf(second) !== this.progress.last?.fingerprint) {
        // A full page did not end the list, and is not evidence of a growing one.
        return second.length >= this.progress.largest ? this.#comeBack(end.page) : this.#goOn(end.page);
      }
      if (second.length > 0 && this.reading.seen && (await this.#wasAnother(ask))) return this.#comeBack(end.page);
      const [goesOn, around] = await Promise.all([this.#checkAfter(ask, end), honoured ? this.#around(ask) : undefined]);
      return goesOn ? this.#goOn(this.#pageAfter(end.page)) : this.#count(ask, end.page, around);
    });
  }

  /** Checks whether the list now has rows after its end. @returns The page to continue with. */
  lookAgain(): Observable<number | undefined> {
    return task(async (ask) => {
      const { last } = this.progress;
      if (this.counting === 'rows' && last) {
        const [next] = await this.positions.at(ask, this.progress.rows);
        return next === undefined || next === last.name || this.#isKnown(next) ? undefined : this.#goOn(this.#pageAfter(last.number + 1));
      }
      const page = this.#pageAfter(last === undefined ? this.list.firstPage : last.number + 1);
      const batch = await ask(this.list.again(page));
      const more = page === last?.number ? batch.length > last.rows : batch.length > 0 && fingerprintOf(batch) !== last?.fingerprint;
      return more ? this.#goOn(page) : undefined;
    });
  }

  /** Returns whether an end may be an outage: an empty list, directly after a full page, or before the expected rows. */
  #mayBeNone({ after }: ListEnd): boolean {
    const { options, progress } = this.reading;
    const expected = this.#isFirst ? (options.expectedRows ?? 0) : progress.rows;
    if (this.progress.rows < expected || after.length > 0) return true;
    return expected === 0 && this.list.repeated === undefined && this.progress.endsFull(this.list.limit);
  }

  /** @returns The page to continue with, unless the list grows as fast as it is read. */
  #goOn(page: number): number | undefined {
    if (this.#continuations < maxContinuations) {
      this.#continuations += 1;
      this.#rowsAtLastEnd = this.progress.rows;
      return page;
    }
    if (this.#isFirst) this.reading.consistency.growing = true;
    return undefined;
  }

  /** Returns whether the last page read has changed, so that the next only seemed to repeat it. */
  async #wasAnother(ask: Ask): Promise<boolean> {
    const { last } = this.progress;
    if (!last || fingerprintOf(await ask(this.list.again(last.number))) === last.fingerprint) return false;
    this.#drift(`page ${last.number} has other rows now`);
    return true;
  }

  /** Continues with a page that had no rows and is now full, unless that keeps happening. */
  #comeBack(page: number): number {
    this.#returns = this.progress.rows === this.#rowsAtReturn ? this.#returns + 1 : 1;
    this.#rowsAtReturn = this.progress.rows;
    if (this.#returns <= maxContinuations) return page;
    throw refused(this.reading.reader, 'E_SOURCE_ORDER', `page ${page} is sometimes full and sometimes empty`);
  }

  /** Returns the page of the next row: the last one, if it is not full. */
  #pageAfter(next: number): number {
    const { last } = this.progress;
    return last && !this.progress.endsFull(this.list.limit) ? last.number : next;
  }

  /** Refuses rows after an end. @returns Whether the list has grown so far meanwhile. */
  async #checkAfter(ask: Ask, { page, after }: ListEnd): Promise<boolean> {
    if (after.length === 0) return this.#checkFarAfter(ask, page);
    for (const behind of after) {
      const batch = await ask(this.list.again(behind));
      if (batch.length > 0 && fingerprintOf(batch) !== this.progress.last?.fingerprint) throw rowsAfterEnd(behind, page);
      this.#drift(`page ${behind} had rows, but has none now`);
    }
    return false;
  }

  /** Checks pages that were not requested yet, so that the result does not depend on how far ahead requests are. */
  async #checkFarAfter(ask: Ask, end: number): Promise<boolean> {
    if (this.list.repeated !== undefined) return false;
    const look = async (behind: number) => ({ behind, batch: await ask(this.list.probe(behind).pipe(catchError(noRows))) });
    const far = await Promise.all([end + 1, end + 2, end + 8].map(look));
    const found = far.find(({ batch }) => batch.length > 0 && fingerprintOf(batch) !== this.progress.last?.fingerprint);
    if (found && (await ask(this.list.again(end))).length === 0) throw rowsAfterEnd(found.behind, end);
    return found !== undefined;
  }

  /** Returns the names of the rows at the position of the last row read, and at the next. */
  async #around(ask: Ask): Promise<readonly (string | undefined)[]> {
    const { rows } = this.progress;
    const names = await Promise.all([rows - 1, rows].map((position) => this.positions.at(ask, position)));
    return names.map(([name]) => name);
  }

  /** @param around What is around the end; `undefined` if rows have no positions. */
  async #count(ask: Ask, end: number, around: readonly (string | undefined)[] | undefined): Promise<number | undefined> {
    const { last, rows } = this.progress;
    this.counted = true;
    this.counting = 'rows';
    if (!last) return this.#checkEmpty(ask, end);
    if (!around) return this.#countByPages(ask, end, last);
    let [there, next] = around;
    for (let look = 1; look <= 2; look += 1) {
      if (look === 2) [there, next] = await this.#around(ask);
      if (there === last.name && (next === undefined || next === last.name)) return this.#ended(ask, end);
      const isNew = next !== undefined && next !== there && !this.#isKnown(next);
      // More rows have arrived since the read last continued.
      if (isNew && (rows !== this.#rowsAtLastEnd || next !== this.#newAtLastEnd)) {
        this.#newAtLastEnd = next;
        return this.#goOn(this.#pageAfter(end));
      }
      if (isNew && look === 2)
        throw refused(this.reading.reader, 'E_SOURCE_ORDER', `row ${rows + 1} exists when requested alone, but page ${end} has no rows`);
    }
    this.counted = false;
    const shown = this.reading.namesOf(await ask(this.list.again(last.number)));
    if (there === undefined && shown.length === last.rows && shown.at(-1) === last.name) {
      // The row exists, but cannot be found by its position.
      await this.#refuseCap(ask, end);
      this.counting = 'none';
      return (await this.#checkFull(ask, end)) ?? this.#ended(ask, end);
    }
    if (there !== undefined && this.list.repeated !== undefined) await this.#refuseCap(ask, end);
    this.#drift(`row ${rows} is no longer where it was read`);
    return undefined;
  }

  async #checkEmpty(ask: Ask, end: number): Promise<number | undefined> {
    const sizes = this.#isFirst && this.reading.seen ? evenly(otherSizes(this.list.limit), 2) : [];
    const pages = sizes.flatMap((size) => [end, end + 1].map((page) => this.positions.page(ask, page, size)));
    return (await Promise.all(pages)).flat().length > 0 ? this.#reopen(ask, end) : undefined;
  }

  /** Continues with a page that now has rows, if it had none, unlike pages of other sizes. */
  async #reopen(ask: Ask, page: number): Promise<number | undefined> {
    if ((await ask(this.list.again(page))).length > 0) return this.#goOn(page);
    this.#drift(`page ${page} has no rows, but pages of another size have some`);
    return undefined;
  }

  /** Counts by pages if pages of one row are not supported: the last page still ends with the last row, and the next is empty. */
  async #countByPages(ask: Ask, end: number, last: LastPage): Promise<number | undefined> {
    this.counting = 'pages';
    for (let look = 1; look <= 2; look += 1) {
      const shown = this.reading.namesOf(await ask(this.list.again(last.number)));
      if (shown.length > last.rows && this.progress.rows !== this.#rowsAtLastEnd) return this.#goOn(last.number);
      if (shown.length === last.rows && shown.at(-1) === last.name) {
        return (await this.#checkFull(ask, end)) ?? this.#ended(ask, end);
      }
    }
    this.counted = false;
    this.#drift(`row ${this.progress.rows} is no longer where it was read`);
    return undefined;
  }

  /** Checks the end after a full page by shorter pages if rows cannot be counted: page numbers may be capped. */
  async #checkFull(ask: Ask, end: number): Promise<number | undefined> {
    const { seen } = this.reading;
    const [size] = otherSizes(this.list.limit);
    if (size === undefined || !this.progress.endsFull(this.list.limit)) return undefined;
    if ((await this.positions.page(ask, end - 1, size)).length !== size) return undefined;
    const names = await this.positions.page(ask, end, size);
    if (names.length === 0 && this.counting === 'pages' && end !== this.list.firstPage + 1) throw this.#capped(end - 1);
    return seen && names.some((name) => !seen.has(name)) ? this.#reopen(ask, end) : undefined;
  }

  /** Accepts an end where the last page repeats only if the count confirms it, or if that page is short and pages are not ignored. */
  async #ended(ask: Ask, end: number): Promise<undefined> {
    const { repeated, firstPage, limit } = this.list;
    if (repeated === undefined) return undefined;
    if (this.counting !== 'rows') {
      await this.#refuseIgnored(ask);
      if (this.progress.endsFull(limit)) throw repeated === firstPage + 1 ? this.#ignored(repeated) : this.#capped(repeated - 1);
    }
    const { reader, options } = this.reading;
    if (this.#isFirst) warn(reader, options, 'W_SOURCE_REPEATS', `page ${end} and others repeat the last page`);
    return undefined;
  }

  /** Detects capped page numbers if the last row has no position: positions then work only up to the number of the last page. */
  async #refuseCap(ask: Ask, end: number): Promise<void> {
    await this.#refuseIgnored(ask);
    const beyond = end - this.list.firstPage;
    if (beyond < 1 || beyond >= this.progress.rows || !this.progress.endsFull(this.list.limit)) return;
    const [first] = await this.positions.at(ask, 0);
    const [before] = await this.positions.at(ask, beyond - 1);
    const [at] = await this.positions.at(ask, beyond);
    if (beyond === 1 && at !== undefined && at === first) {
      if (this.list.repeated === end) throw this.#ignored(end);
      return;
    }
    if (before !== undefined && (at === undefined || at === before || at === first)) throw this.#capped(end - 1);
  }

  /** Refuses a service that returns the first rows for the second page of any size. */
  async #refuseIgnored(ask: Ask): Promise<void> {
    const { first, last } = this.progress;
    const second = this.list.firstPage + 1;
    if (!last || last.rows < 2 || this.list.repeated !== second) return;
    if ((await this.positions.page(ask, second, last.rows - 1))[0] === first) throw this.#ignored(second);
  }

  #isKnown(name: string): boolean {
    const { seen } = this.reading;
    return seen ? seen.inThisPass(name) : name === this.progress.first || name === this.progress.last?.name;
  }

  #drift(what: string): void {
    if (this.#isFirst) this.reading.drift(what);
  }

  #ignored(page: number): SourceError {
    const what = `page ${page} repeats page ${page - 1}; the service ignores the page number`;
    return refused(this.reading.reader, 'E_SOURCE_PAGE_IGNORED', what);
  }

  #capped(page: number): SourceError {
    return refused(this.reading.reader, 'E_SOURCE_PAGE_CAP', `page ${page} is full, but the service returns no page beyond it`);
  }
}

/** Waits before a possible end of a list is checked again, and reports the wait. @param since When the end was first seen. */
export async function endWait(
  { reader, options, consistency }: FirstRead,
  ask: Ask,
  read: number,
  since = performance.now(),
): Promise<void> {
  const { at, events, endWaitMs = defaults.endWaitMs } = options;
  const delayMs = Math.ceil(since + endWaitMs - performance.now());
  if (delayMs <= 0) return;
  events?.emit('wait', () => ({ collection: reader.collection.name, at, read, delayMs }));
  await ask(timer(delayMs));
  consistency.waitedMs += delayMs;
}

function rowsAfterEnd(page: number, end: number): SourceError {
  return new SourceError('E_SOURCE_ORDER', 'permanent', `page ${page} has rows, but page ${end} has none`);
}

const maxRows = 2 ** 40;

/** The rows of a list by position, from 0, as pages of one row if the service supports them. */
export class Positions {
  #honoured: boolean | undefined;

  constructor(
    private readonly list: Pages,
    private readonly reading: FirstRead,
  ) {}

  /** Returns whether pages of one row are supported, which is unknown without a row. */
  async areHonoured(ask: Ask): Promise<boolean> {
    if (this.#honoured !== undefined) return this.#honoured;
    const rows = await this.at(ask, 0);
    if (rows.length > 0) this.#honoured = rows.length === 1;
    return rows.length === 1;
  }

  /** Returns the names of the rows at a position: one, or none after the end; more if the service ignores the limit. */
  at(ask: Ask, position: number): Promise<readonly string[]> {
    return this.page(ask, this.list.firstPage + position, 1);
  }

  async page(ask: Ask, page: number, size: number): Promise<readonly string[]> {
    return this.reading.namesOf(await ask(this.list.probe(page, size).pipe(catchError(noRows))));
  }

  /** Counts the current rows by searching for the last position with one, from a guess; `undefined` if that is impossible. */
  count(guess: number): Observable<number | undefined> {
    return task(async (ask) => {
      if (!(await this.areHonoured(ask)) || this.list.repeated !== undefined) return undefined;
      const has = async (position: number) => (await this.at(ask, position)).length > 0;
      let [below, above] = [-1, guess];
      for (let step = 1; await has(above); step *= 2) {
        if (above > maxRows) return Infinity;
        [below, above] = [above, above + step];
      }
      for (let step = 1; below < 0 && above > 0; step *= 2) {
        const position = Math.max(0, above - step);
        if (await has(position)) below = position;
        else above = position;
      }
      while (above - below > 1) {
        const middle = Math.floor((below + above) / 2);
        if (await has(middle)) below = middle;
        else above = middle;
      }
      return above;
    });
  }
}

/** Returns the page sizes of passes, which move page borders: primes first, since they share no borders. */
export function otherSizes(limit: number): readonly number[] {
  const below = Array.from({ length: limit - 1 }, (_, index) => limit - 1 - index);
  return [...below.filter(isPrime), ...below.filter((size) => !isPrime(size))];
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return number > 1;
}
