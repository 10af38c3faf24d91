import { catchError, of, type Observable } from 'rxjs';
import { itemAt } from '../core/index.js';
import { task, type Ask, type Page } from '../flow/index.js';
import { digestOf, RecordBatch } from '../vector/index.js';
import { noNewRows, refused, unlessRefused, warn } from './paging.js';
import { windowOf } from './options.js';
import { endWait } from './end.js';
import { evenly, maxProbes, type Reading, type ReadSettings, type Taken } from './seen-rows.js';
import type { List, ListPass } from './passes.js';
import type { ListAnswer } from './fetch/reader.js';
import type { Position } from './fetch/request.js';

const maxReturns = 10;

/**
 * A list whose pages have no numbers: each points to the next, so they are requested one after another. The end is what the service says:
 * rows cannot be counted from outside. Only the end, single pages and the whole can be re-checked.
 */
export class LinkedList implements List {
  readonly numbered = false;
  readonly counting = 'none';
  readonly firstPage = 1;
  readonly concurrency = 1;
  readonly #pages: LinkedPages;
  readonly #sizes: number[] = [];
  #returns = 0;
  readonly page = (number: number) => this.#pages.page(number);
  readonly count = () => of(undefined);

  constructor(readonly reading: Reading) {
    this.#pages = new LinkedPages(reading, 'page');
  }

  get growing(): boolean {
    return this.#returns >= maxReturns;
  }

  take({ number }: Page, { names, repeats, isStale }: Taken): void {
    this.#sizes[number - 1] = names.length;
    if (repeats.length > 0) this.reading.drift(`page ${number} has rows that were read before`);
    if (isStale !== undefined) this.#pages.notice(isStale);
  }

  /** Re-checks the end, after a wait if there are no rows or fewer than before. */
  confirm(): Observable<number | undefined> {
    return task(async (ask) => {
      const { progress, options, consistency } = this.reading;
      if (progress.rows === 0 || progress.rows < (options.expectedRows ?? 0)) await endWait(this.reading, ask, progress.rows);
      if ((await this.#goesOn(ask)) && this.#returns < maxReturns) {
        this.#returns += 1;
        return this.#pages.reopen();
      }
      consistency.growing = this.growing;
      await this.#refuseBlindEnd(ask);
      return undefined;
    });
  }

  lookAgain(): Observable<number | undefined> {
    return task(async (ask) => ((await this.#goesOn(ask)) ? this.#pages.end.number : undefined));
  }

  async check(ask: Ask): Promise<boolean> {
    this.#uncheck('the number of rows: the list has no page numbers, so its end is what the service says');
    if (this.reading.consistency.mode !== 'prove') await this.#checkPages(ask);
    return true;
  }

  pass(): Observable<ListPass> {
    const pages = new LinkedPages(this.reading, 'probe');
    return of({
      maxRows: Infinity,
      page: (number) => pages.page(number),
      confirm: () => of(undefined),
      notice: (isStale) => pages.notice(isStale),
      reachesEnd: () => Promise.resolve(true),
    });
  }

  /** Returns whether the answer that ended the list now has other rows, or a page after it. */
  async #goesOn(ask: Ask): Promise<boolean> {
    const { number } = this.#pages.end;
    const again = await ask(this.#pages.again(this.#pages.end));
    if (again === undefined) {
      this.#uncheck(`the end: the service refuses page ${number} a second time`);
      return false;
    }
    const names = this.reading.namesOf(again.batch);
    const before = this.reading.digests.get(number);
    const isSame = before === undefined ? names.length === 0 : digestOf(names) === before;
    if (again.following?.kind === 'next') return true;
    if (isSame) return false;
    const { last } = this.reading.progress;
    if (before === undefined || last === undefined || names.length > last.rows) return true;
    this.reading.drift(`page ${number} has changed`);
    return false;
  }

  /** Checks a list of one page, which may have a link to more rows elsewhere: a page one row shorter must be followed by another. */
  async #refuseBlindEnd(ask: Ask): Promise<void> {
    const { rows, pages } = this.reading.progress;
    if (pages !== 1 || rows < 2) return;
    const { reader } = this.reading;
    const shorter = await ask(reader.request({ page: 1, limit: rows - 1, purpose: 'probe' }).pipe(catchError(unlessRefused)));
    if (shorter?.following?.kind === 'next') return;
    if (shorter?.batch.length !== rows - 1)
      return this.#uncheck('that one page is the whole list: the service does not honour the page size');
    const what = `requested ${rows - 1} of its rows, and the service returned them without a ${pointerOf(this.reading)} to the others`;
    throw refused(reader, 'E_SOURCE_CURSOR', what);
  }

  #uncheck(what: string): void {
    const { unchecked = [] } = this.reading.consistency;
    if (!unchecked.includes(what)) this.reading.consistency.unchecked = [...unchecked, what];
  }

  async #checkPages(ask: Ask): Promise<void> {
    const { digests, progress, consistency } = this.reading;
    const pages = Array.from(digests, ([number, digest]) => ({ number, digest, rows: itemAt(this.#sizes, number - 1) }));
    // A page that is shorter than others and not the last may have lost rows.
    const short = pages.slice(0, -1).filter(({ rows }) => rows < progress.largest);
    for (const { number, digest } of new Set([...evenly(short, maxProbes), ...evenly(pages, maxProbes)])) {
      const again = await ask(this.#pages.again(this.#pages.at(number)));
      consistency.probes += 1;
      if (again === undefined) return this.#refusedAgain(number);
      if (digestOf(this.reading.namesOf(again.batch)) !== digest) this.reading.drift(`page ${number} has changed`);
    }
    for (const place of evenly(this.#pages.empty, maxProbes)) {
      const again = await ask(this.#pages.again(place));
      consistency.probes += 1;
      if (again && again.batch.length > 0) this.reading.drift(`a response before page ${place.number} had no rows, but has some now`);
    }
  }

  /** Some services accept a cursor only once. */
  #refusedAgain(number: number): void {
    this.#uncheck(`pages after the first: the service refuses the cursor of page ${number} a second time`);
    const unknown = `page ${number} cannot be requested again, so it is not known whether the list changed`;
    const { reader, options } = this.reading;
    warn(reader, options, 'W_SOURCE_UNCHECKED', `${unknown}; consistency: prove reads it again`);
  }
}

/** Where an answer was requested, and the number of its page, or the one that it would have; the first page has no position. */
interface Place {
  readonly number: number;
  readonly position: Position | undefined;
}

/** The pages of a list in which each points to the next. They are numbered as they arrive; answers without rows in the middle are not. */
class LinkedPages {
  readonly #positions: (Position | undefined)[] = [undefined];
  readonly #named = new Map<string, number>();
  /** The answers without rows that pointed to a next page. */
  readonly empty: Place[] = [];
  /** The answer that pointed to no next page. */
  end: Place = { number: 1, position: undefined };
  #fresh: number | undefined;
  #stale = 0;

  constructor(
    private readonly settings: ReadSettings,
    private readonly purpose: 'page' | 'probe',
  ) {}

  /** Reads the first page, or the one after a page that was read; it has no rows after the last. */
  page(number: number): Observable<RecordBatch> {
    return task(async (ask) => {
      const { reader, options } = this.settings;
      const { maxPages = Infinity } = options;
      for (let position = this.#positions[number - 1]; number <= this.#positions.length;) {
        if (this.#stale > Math.max(10, windowOf(options))) {
          throw refused(reader, 'E_SOURCE_ENDLESS', `${noNewRows(this.#stale, number)}, and there is always a next page`);
        }
        const { batch, following } = await this.#asked(ask, number, position);
        const next = following?.kind === 'next' ? following.position : undefined;
        if (next === undefined) this.end = { number, position };
        else this.#name(next, number);
        if (batch.length > 0) {
          if (number > maxPages) throw refused(reader, 'E_SOURCE_MAX_PAGES', `page ${number} has rows, but max_pages is ${maxPages}`);
          this.#positions[number - 1] = position;
          if (next !== undefined) this.#positions[number] = next;
          return batch;
        }
        if (next === undefined) break;
        this.empty.push({ number, position });
        this.#stale += 1;
        position = next;
      }
      return RecordBatch.empty;
    });
  }

  notice(isStale: boolean): void {
    this.#stale = isStale ? this.#stale + 1 : 0;
  }

  at(number: number): Place {
    return { number, position: this.#positions[number - 1] };
  }

  /** Requests the current state of an answer; `undefined` if the service refuses to return it a second time. */
  again({ number, position }: Place): Observable<ListAnswer | undefined> {
    return this.settings.reader.request({ page: number, position, purpose: 'probe' }).pipe(catchError(unlessRefused));
  }

  /** Continues where the list ended. @returns The number of the page to read. */
  reopen(): number {
    const { number, position } = this.end;
    this.#positions.length = number;
    this.#positions[number - 1] = position;
    this.#fresh = number;
    return number;
  }

  /** Requests an answer again if it has no rows in the middle of a list, which may be an error; a second one with rows replaces it. */
  async #asked(ask: Ask, page: number, position: Position | undefined): Promise<ListAnswer> {
    const request = { page, position, purpose: this.purpose };
    const first = await ask(this.settings.reader.request({ ...request, fresh: page === this.#fresh }));
    if (first.batch.length > 0 || first.following?.kind !== 'next') return first;
    // A single-use cursor may return no rows and no next page the second time; the first answer has the next page.
    const second = await ask(this.settings.reader.request({ ...request, fresh: true }).pipe(catchError(unlessRefused)));
    return second && second.batch.length > 0 ? second : first;
  }

  #name(next: Position, number: number): void {
    const key = JSON.stringify(next);
    const before = this.#named.get(key) ?? number;
    if (before !== number) {
      const what = `page ${number} has the same ${pointerOf(this.settings)} for the next page as page ${before}; the list would never end`;
      throw refused(this.settings.reader, 'E_SOURCE_CURSOR', what);
    }
    this.#named.set(key, number);
  }
}

function pointerOf({ reader }: ReadSettings): string {
  return reader.collection.served?.paging.scheme === 'link' ? 'link' : 'cursor';
}
