import { EMPTY, catchError, concat, defer, map, switchMap, type Observable } from 'rxjs';
import { itemAt, SourceError, amountOf } from '../core/index.js';
import { pagedBatches, task, type Ask, type Page } from '../flow/index.js';
import { digestOf, RecordBatch } from '../vector/index.js';
import { unlessRefused, warn } from './paging.js';
import { windowOf } from './options.js';
import { endWait } from './end.js';
import { evenly } from './probes.js';
import { maxProbes, type Reading, type ReadSettings } from './seen-rows.js';
import { SequentialPasses } from './passes.js';
import type { ListAnswer } from './fetch/reader.js';
import type { Position } from './fetch/request.js';

/** Maximum times that a read continues after an end that was not one. */
const maxReturns = 10;

/**
 * Reads a list whose pages have no numbers: each points to the next, so they are requested one after another.
 *
 * The end is what the service reports: rows cannot be counted from outside. Only the end itself, single pages, and the whole list can be re-checked.
 */
export class SequentialRead {
  readonly #linked: LinkedPages;
  readonly #sizes: number[] = [];
  /** How often the read continued after its end. */
  #returns = 0;

  constructor(private readonly reading: Reading) {
    this.#linked = new LinkedPages(reading, 'page');
  }

  /** Emits the pages of the list, and the rows that were missed. */
  pages(): Observable<Page> {
    return concat(
      this.#crawl(),
      defer(() => {
        this.reading.consistency.counted = 'none';
        this.reading.options.onEnd?.(() => task((ask) => this.#goesOn(ask)));
        return this.reading.consistency.mode === 'off' ? EMPTY : this.#checks();
      }),
    );
  }

  #crawl(): Observable<Page> {
    return pagedBatches((number) => this.#linked.page(number), {
      name: this.reading.reader.collection.name,
      window: windowOf(this.reading.options),
      concurrency: 1,
      firstPage: 1,
      confirmEnd: () => task((ask) => this.#confirm(ask)),
    }).pipe(map((page) => this.#keep(page)));
  }

  /** Processes a page of the list, and returns it with only its new rows. */
  #keep(page: Page): Page {
    const { fresh, names, repeats, isStale } = this.reading.take(page);
    this.#sizes[page.number - 1] = names.length;
    if (repeats.length > 0) this.reading.drift(`page ${page.number} has rows that were read before`);
    if (isStale !== undefined) this.#linked.notice(isStale);
    return fresh;
  }

  /** Re-checks the end, after a wait if there are no rows or fewer than before. @returns The page to continue with. */
  async #confirm(ask: Ask): Promise<number | undefined> {
    const { rows } = this.reading.progress;
    if (rows === 0 || rows < (this.reading.options.expectedRows ?? 0)) await endWait(this.reading, ask, rows);
    if ((await this.#goesOn(ask)) && this.#returns < maxReturns) {
      this.#returns += 1;
      return this.#linked.reopen();
    }
    this.reading.consistency.growing = this.#returns >= maxReturns;
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

  /**
   * Checks a list of one full page, which may have a link to more rows in an unexpected place: with a page one row shorter, there must be a second one.
   *
   * @throws {SourceError} `E_SOURCE_CURSOR` if there is still none.
   */
  async #refuseBlindEnd(ask: Ask): Promise<void> {
    const { rows, pages } = this.reading.progress;
    if (pages !== 1 || rows < 2) return;
    const { name, served } = this.reading.reader.collection;
    const shorter = await ask(this.reading.reader.request({ page: 1, limit: rows - 1, purpose: 'probe' }).pipe(catchError(unlessRefused)));
    if (shorter?.following?.kind === 'next') return;
    if (shorter?.batch.length !== rows - 1)
      return this.#uncheck('that one page is the whole list: the service does not honour the page size');
    const where = served?.paging.scheme === 'link' ? 'link' : 'cursor';
    const message = `${name}: requested ${rows - 1} of its rows, and the service returned them without a ${where} to the others`;
    throw new SourceError('E_SOURCE_CURSOR', 'permanent', message);
  }

  #uncheck(what: string): void {
    const { unchecked = [] } = this.reading.consistency;
    if (!unchecked.includes(what)) this.reading.consistency.unchecked = [...unchecked, what];
  }

  #checks(): Observable<Page> {
    const { consistency } = this.reading;
    return task(async (ask) => {
      this.#uncheck('the number of rows: the list has no page numbers, so its end is what the service says');
      if (consistency.mode !== 'prove') await this.#probePages(ask);
      consistency.outcome = this.reading.drifted ? 'drifted' : 'stable';
      return consistency.mode === 'prove' || (consistency.mode === 'repair' && this.reading.drifted);
    }).pipe(switchMap((needed) => (needed ? this.#passes() : EMPTY)));
  }

  #passes(): Observable<Page> {
    const { seen, progress, ...first } = this.reading;
    if (!seen) return EMPTY;
    return new SequentialPasses({
      ...first,
      seen,
      pages: progress.pages,
      linkedPages: () => new LinkedPages(this.reading, 'probe'),
    }).pages();
  }

  async #probePages(ask: Ask): Promise<void> {
    const { digests, progress } = this.reading;
    const pages = Array.from(digests, ([number, digest]) => ({ number, digest, rows: itemAt(this.#sizes, number - 1) }));
    // A page that is shorter than others and not the last may have lost rows.
    const short = pages.slice(0, -1).filter(({ rows }) => rows < progress.largest);
    for (const { number, digest } of new Set([...evenly(short, maxProbes), ...evenly(pages, maxProbes)])) {
      const again = await ask(this.#linked.again(number));
      this.reading.consistency.probes += 1;
      if (again === undefined) return this.#refusedAgain(number);
      if (digestOf(this.reading.namesOf(again.batch)) !== digest) this.reading.drift(`page ${number} has changed`);
    }
    for (const { number, answer$ } of evenly(this.#linked.emptyAgain, maxProbes)) {
      const again = await ask(answer$);
      this.reading.consistency.probes += 1;
      if (again && again.batch.length > 0) this.reading.drift(`a response before page ${number} had no rows, but has some now`);
    }
  }

  /** Some services accept a cursor only once. */
  #refusedAgain(number: number): void {
    this.#uncheck(`pages after the first: the service refuses the cursor of page ${number} a second time`);
    warn(this.reading.options, {
      code: 'W_SOURCE_UNCHECKED',
      message: `${this.reading.reader.collection.name}: page ${number} cannot be requested again, so it is not known whether the list changed; consistency: prove reads it again`,
    });
  }
}

/**
 * The pages of a list in which each points to the next. They are numbered as they arrive; answers without rows that point to a next page have no number.
 *
 * Memory: the position of each page, and of each answer without rows.
 */
class LinkedPages {
  /** The known positions of pages; `undefined` for the first one. */
  readonly #positions: (Position | undefined)[] = [undefined];
  /** The page that named each position. */
  readonly #named = new Map<string, number>();
  /** The answers without rows that pointed to a next page, with the number that each would have had. */
  readonly #empty: { readonly number: number; readonly position: Position | undefined }[] = [];
  /** The answer that pointed to no next page: the number it would have, and its position. */
  #end: { readonly number: number; readonly position: Position | undefined } = { number: 1, position: undefined };
  #fresh: number | undefined;
  #stale = 0;

  /** @param purpose That of all its requests. */
  constructor(
    private readonly settings: ReadSettings,
    private readonly purpose: 'page' | 'probe',
  ) {}

  /**
   * Reads the first page, or the one after a page that was read; it has no rows after the last.
   *
   * @throws {SourceError} `E_SOURCE_CURSOR` if two pages point to the same next page, `E_SOURCE_ENDLESS` and `E_SOURCE_MAX_PAGES`.
   */
  page(number: number): Observable<RecordBatch> {
    return task(async (ask) => {
      const { options } = this.settings;
      for (let position = this.#positions[number - 1]; number <= this.#positions.length;) {
        if (this.#stale > Math.max(10, windowOf(options))) throw this.#endless(number);
        const { batch, following } = await this.#asked(ask, number, position);
        const next = following?.kind === 'next' ? following.position : undefined;
        if (next === undefined) this.#end = { number, position };
        else this.#name(next, number);
        if (batch.length > 0) return this.#taken(number, position, batch, next);
        if (next === undefined) break;
        this.#empty.push({ number, position });
        this.#stale += 1;
        position = next;
      }
      return RecordBatch.empty;
    });
  }

  /** Records whether a page had no new row. */
  notice(isStale: boolean): void {
    this.#stale = isStale ? this.#stale + 1 : 0;
  }

  /** Requests the current state of a page; `undefined` if the service refuses to return it a second time. */
  again(number: number): Observable<ListAnswer | undefined> {
    return this.#at(number, this.#positions[number - 1]);
  }

  /** The answers without rows in the middle of the list, for requesting their current state. */
  get emptyAgain(): readonly { readonly number: number; readonly answer$: Observable<ListAnswer | undefined> }[] {
    return this.#empty.map(({ number, position }) => ({ number, answer$: this.#at(number, position) }));
  }

  /** Returns the current state of the answer that ended the list, and the number of the page that it is or would be. */
  endAgain(): { readonly number: number; readonly answer$: Observable<ListAnswer | undefined> } {
    const { number, position } = this.#end;
    return { number, answer$: this.#at(number, position) };
  }

  /** Continues where the list ended. @returns The number of the page to read. */
  reopen(): number {
    const { number, position } = this.#end;
    this.#positions.length = number;
    this.#positions[number - 1] = position;
    this.#fresh = number;
    return number;
  }

  /**
   * Requests an answer again if it has no rows in the middle of a list, which may be an error of the service; a second one with rows replaces it.
   */
  async #asked(ask: Ask, number: number, position: Position | undefined): Promise<ListAnswer> {
    const request = { page: number, position, purpose: this.purpose };
    const first = await ask(this.settings.reader.request({ ...request, fresh: number === this.#fresh }));
    if (first.batch.length > 0 || first.following?.kind !== 'next') return first;
    // A single-use cursor may return no rows and no next page the second time; the first answer has the next page.
    const second = await ask(this.settings.reader.request({ ...request, fresh: true }).pipe(catchError(unlessRefused)));
    return second && second.batch.length > 0 ? second : first;
  }

  #taken(number: number, position: Position | undefined, batch: RecordBatch, next: Position | undefined): RecordBatch {
    const { maxPages = Infinity } = this.settings.options;
    const { name } = this.settings.reader.collection;
    if (number > maxPages)
      throw new SourceError('E_SOURCE_MAX_PAGES', 'permanent', `${name}: page ${number} has rows, but max_pages is ${maxPages}`);
    this.#positions[number - 1] = position;
    if (next !== undefined) this.#positions[number] = next;
    return batch;
  }

  #at(number: number, position: Position | undefined): Observable<ListAnswer | undefined> {
    return this.settings.reader.request({ page: number, position, purpose: 'probe' }).pipe(catchError(unlessRefused));
  }

  /** Two pages must not point to the same next page. */
  #name(next: Position, number: number): void {
    const key = JSON.stringify(next);
    const before = this.#named.get(key) ?? number;
    if (before !== number) {
      const { name, served } = this.settings.reader.collection;
      const what = served?.paging.scheme === 'link' ? 'link' : 'cursor';
      const message = `${name}: page ${number} has the same ${what} for the next page as page ${before}; the list would never end`;
      throw new SourceError('E_SOURCE_CURSOR', 'permanent', message);
    }
    this.#named.set(key, number);
  }

  #endless(number: number): SourceError {
    const message = `${this.settings.reader.collection.name}: ${amountOf(this.#stale, 'page')} up to page ${number - 1} ${this.#stale === 1 ? 'has' : 'have'} no new rows, and there is always a next page`;
    return new SourceError('E_SOURCE_ENDLESS', 'permanent', message);
  }
}
