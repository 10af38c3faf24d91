import { catchError, map, type Observable } from 'rxjs';
import type { Collection, Served } from '../collections/index.js';
import { itemAt } from '../core/index.js';
import { batchOf, task, type Ask, type Page } from '../flow/index.js';
import { defaults } from '../options/index.js';
import { digestOf, RecordBatch } from '../vector/index.js';
import { noNewRows, refused, unlessRefused, warn } from './paging.js';
import { windowOf } from './options.js';
import { endWait } from './end.js';
import { evenly, maxProbes, type FirstRead, type ReadProgress, type ReadRows } from './seen-rows.js';
import type { List, ListPass } from './passes.js';
import type { ListAnswer } from './fetch/reader.js';
import { positionAt, type Position } from './fetch/request.js';

const maxReturns = 10;

/**
 * A list whose pages have no numbers: each points to the next, so they are requested one after another. The service alone knows the end,
 * since rows cannot be counted from outside. An answer without a next page only claims it, and so can an outage. It is therefore requested
 * again at once, and unless it is a page shorter than others, once more `end_wait` later, when everything else has been read.
 */
export class LinkedList implements List {
  readonly numbered = false;
  readonly counting = 'none';
  readonly firstPage = 1;
  readonly concurrency = 1;
  readonly #pages: LinkedPages;
  readonly #sizes: number[] = [];
  readonly #ties: Ties | undefined;
  /** When the end was claimed, while the claim must be checked once more. */
  #claimedAt: number | undefined;
  /** When the last pass, or the first read, ended. */
  #endedAt = 0;
  #onlyOnce = false;
  readonly page = (number: number) => this.#pages.page(number);
  readonly again = (page: number) => this.#pages.again(this.#pages.at(page)).pipe(map((answer) => answer?.batch));

  constructor(readonly reading: FirstRead) {
    this.#pages = new LinkedPages(reading, 'page');
    this.#ties = tiesOf(reading.reader.collection);
  }

  /** Ends of other sides are checked again at the end of the run. */
  get unsettled(): boolean {
    return this.#claimedAt !== undefined && this.reading.options.at === undefined;
  }

  take(page: Page, { names, repeats, isStale }: ReadRows): void {
    this.#sizes[page.number - 1] = names.length;
    this.#ties?.take(page);
    if (repeats.length > 0) this.reading.drift(`page ${page.number} has rows that were read before`);
    if (isStale !== undefined) this.#pages.notice(isStale);
  }

  /** Checks the end again at once, but after a wait if there are no rows or fewer than before. */
  confirm(): Observable<number | undefined> {
    return task(async (ask) => {
      const { progress, options } = this.reading;
      this.#endedAt = performance.now();
      const mayBeOutage = progress.rows === 0 || progress.rows < (options.expectedRows ?? 0);
      this.#claimedAt = mayBeOutage || this.#endsShort ? undefined : this.#endedAt;
      if (mayBeOutage) await endWait(this.reading, ask, progress.rows);
      const next = await this.#lookAtEnd(ask);
      if (next !== undefined) return next;
      await this.#checkOnlyPage(ask);
      return undefined;
    });
  }

  /** Checks the end again, `end_wait` after its claim if that must be checked once more. */
  lookAgain(): Observable<number | undefined> {
    return task(async (ask) => {
      if (this.#claimedAt !== undefined) await endWait(this.reading, ask, this.reading.progress.rows, this.#claimedAt);
      this.#claimedAt = undefined;
      return this.#lookAtEnd(ask);
    });
  }

  async check(ask: Ask): Promise<boolean> {
    this.#uncheck('the number of rows: the list has no page numbers, so its end is what the service says');
    if (this.reading.consistency.mode !== 'prove') await this.#checkPages(ask);
    await this.#ties?.check(ask, this.reading);
    return true;
  }

  /**
   * Under `prove`, a pass begins `end_wait` after the end of the previous one, so that no outage shortens both. Otherwise its end is
   * checked again after a wait if it has fewer rows than the first read.
   */
  pass(number: number, pass: ReadProgress): Observable<ListPass> {
    const pages = new LinkedPages(this.reading, 'probe');
    const { consistency, progress, options } = this.reading;
    const { endWaitMs = defaults.endWaitMs } = options;
    // Waits of equal length would all meet an outage that recurs after as long.
    const since = () => this.#endedAt + (number % 2 === 0 ? endWaitMs / 2 : 0);
    const confirm = async (ask: Ask) => {
      this.#endedAt = performance.now();
      if (consistency.mode === 'prove') this.#claimedAt = undefined;
      if (consistency.mode === 'prove' || pass.rows >= progress.rows) return undefined;
      await endWait(this.reading, ask, pass.rows);
      return this.#lookAtEnd(ask, pages);
    };
    return task(async (ask) => {
      if (consistency.mode === 'prove') await endWait(this.reading, ask, progress.rows, since());
      return {
        page: (number) => pages.page(number),
        confirm: () => task(confirm),
        notice: (isStale) => pages.notice(isStale),
      };
    });
  }

  /** Whether the list ends with a page that has fewer rows than all others. */
  get #endsShort(): boolean {
    const { length } = this.#pages.end.names;
    const { pages, largest, short } = this.reading.progress;
    return pages > 1 && length > 0 && length < largest && short === undefined;
  }

  /** Requests the answer that ended the list again. @returns The page to continue with if it now has more rows, or a page after it. */
  async #lookAtEnd(ask: Ask, pages = this.#pages): Promise<number | undefined> {
    const { number, names: before } = pages.end;
    const again = await ask(pages.again(pages.end));
    if (again === undefined) {
      this.#claimedAt = undefined;
      this.#refusedAgain(`the end: the service refuses page ${number} a second time`, 'it is not known whether the list ends there');
      return undefined;
    }
    const { seen } = this.reading;
    const names = this.reading.namesOf(again.batch);
    const isSame = digestOf(names) === digestOf(before);
    const hasNew = seen ? names.some((name) => !seen.inThisPass(name)) : names.length > before.length;
    if (hasNew || (isSame && again.next !== undefined)) {
      if (pages.returns < maxReturns) return pages.reopen();
      this.#claimedAt = undefined;
      if (pages === this.#pages) this.reading.consistency.growing = true;
      // Rows may leave a page. But an expired cursor may get the first page, or none.
    } else if (!isSame && (names.length === 0 || names.some((name) => !before.includes(name)))) {
      this.reading.drift(`page ${number} has changed`);
    }
    return undefined;
  }

  /** Checks a list of one page, whose link to more rows may be elsewhere: a page that is one row shorter must be followed by another. */
  async #checkOnlyPage(ask: Ask): Promise<void> {
    const { number, names } = this.#pages.end;
    const rows = names.length;
    const { reader, options } = this.reading;
    const paging = reader.collection.served?.paging;
    if (number !== 1 || rows < 2 || (paging?.scheme === 'cursor' && paging.more !== undefined)) return;
    const shorter = await ask(reader.request({ page: 1, limit: rows - 1, purpose: 'probe' }).pipe(catchError(unlessRefused)));
    if (shorter?.next !== undefined) return;
    if (shorter?.batch.length !== rows - 1) {
      this.reading.blind = true;
      this.#uncheck('that one page is the whole list: the service does not honour the page size');
      const what = `page 1 has no ${pointerOf(this.reading)} to another, and the service does not honour the page size`;
      return warn(reader, options, 'W_SOURCE_UNCHECKED', `${what}, so it is not known whether that is the whole list`);
    }
    const what = `requested ${rows - 1} of its rows, and the service returned them without a ${pointerOf(this.reading)} to the others`;
    throw refused(reader, 'E_SOURCE_CURSOR', what);
  }

  #uncheck(what: string): void {
    const { unchecked = [] } = this.reading.consistency;
    if (!unchecked.includes(what)) this.reading.consistency.unchecked = [...unchecked, what];
  }

  async #checkPages(ask: Ask): Promise<void> {
    const { digests, progress, consistency } = this.reading;
    const pages = [...digests.keys()];
    // A shorter page that is not the last may have lost rows.
    const short = pages.slice(0, -1).filter((number) => itemAt(this.#sizes, number - 1) < progress.largest);
    for (const number of new Set([...evenly(short, maxProbes), ...evenly(pages, maxProbes)])) {
      const again = await ask(this.again(number));
      if (again === undefined) {
        consistency.probes += 1;
        const what = `pages after the first: the service refuses the cursor of page ${number} a second time`;
        return this.#refusedAgain(what, `page ${number} cannot be requested again, so it is not known whether the list changed`);
      }
      this.reading.compare(number, again);
    }
    for (const place of evenly(this.#pages.empty, maxProbes)) {
      const again = await ask(this.#pages.again(place));
      consistency.probes += 1;
      if (again && again.batch.length > 0) this.reading.drift(`a response before page ${place.number} had no rows, but has some now`);
    }
  }

  /** Some services accept a cursor only once. This is reported once; the passes of `prove` need no cursor again. */
  #refusedAgain(what: string, unknown: string): void {
    const { reader, options, consistency } = this.reading;
    this.#uncheck(what);
    if (this.#onlyOnce || consistency.mode === 'prove') return;
    this.#onlyOnce = true;
    warn(reader, options, 'W_SOURCE_UNCHECKED', `${unknown}; consistency: prove reads it again`);
  }
}

/** Where an answer was requested, and the number that its page has or would have; the first page has no position. */
interface Place {
  readonly number: number;
  readonly position: Position | undefined;
}

/** The pages of a list in which each points to the next. They are numbered on arrival; answers without rows in the middle are not. */
class LinkedPages {
  readonly #positions: (Position | undefined)[] = [undefined];
  readonly #named = new Map<string, number>();
  /** The answers without rows that pointed to a next page. */
  readonly empty: Place[] = [];
  end: Place & { readonly names: readonly string[] } = { number: 1, position: undefined, names: [] };
  returns = 0;
  #fresh: number | undefined;
  #stale = 0;

  constructor(
    private readonly reading: FirstRead,
    private readonly purpose: 'page' | 'probe',
  ) {}

  /** Reads the first page, or the one after a page that was read; without rows after the last. */
  page(number: number): Observable<RecordBatch> {
    return task(async (ask) => {
      const { reader, options } = this.reading;
      const { maxPages = Infinity } = options;
      for (let position = this.#positions[number - 1]; number <= this.#positions.length;) {
        if (this.#stale > Math.max(10, windowOf(options))) {
          throw refused(reader, 'E_SOURCE_ENDLESS', `${noNewRows(this.#stale, number)}, and there is always a next page`);
        }
        const { batch, next } = await this.#answer(ask, number, position);
        if (next === undefined) this.end = { number, position, names: this.reading.namesOf(batch) };
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

  /** Requests the current state of an answer; `undefined` if the service refuses to return it twice. */
  again({ number, position }: Place): Observable<ListAnswer | undefined> {
    return this.reading.reader.request({ page: number, position, purpose: 'probe' }).pipe(catchError(unlessRefused));
  }

  reopen(): number {
    const { number, position } = this.end;
    this.#positions.length = number;
    this.#positions[number - 1] = position;
    this.#fresh = number;
    this.returns += 1;
    return number;
  }

  /** Requests an answer without rows in the middle of a list again, since it may be an error; a second one with rows replaces it. */
  async #answer(ask: Ask, page: number, position: Position | undefined): Promise<ListAnswer> {
    const request = { page, position, purpose: this.purpose };
    const first = await ask(this.reading.reader.request({ ...request, fresh: page === this.#fresh }));
    if (first.batch.length > 0 || first.next === undefined) return first;
    // For a single-use cursor, only the first answer may have the next page.
    const second = await ask(this.reading.reader.request({ ...request, fresh: true }).pipe(catchError(unlessRefused)));
    return second && second.batch.length > 0 ? second : first;
  }

  #name(next: Position, number: number): void {
    const { reader, options } = this.reading;
    if (next.departs !== undefined && !this.reading.blind) {
      this.reading.blind = true;
      warn(reader, options, 'W_SOURCE_LINK', `the link on page ${number} ${next.departs}, so that other rows may follow`);
    }
    const key = JSON.stringify(next);
    const before = this.#named.get(key) ?? number;
    if (before !== number) {
      const what = `page ${number} has the same ${pointerOf(this.reading)} for the next page as page ${before}; the list would never end`;
      throw refused(reader, 'E_SOURCE_CURSOR', what);
    }
    this.#named.set(key, number);
  }
}

function pointerOf({ reader }: FirstRead): string {
  return reader.collection.served?.paging.scheme === 'link' ? 'link' : 'cursor';
}

/** Returns the ties of a list that continues after a field of the last row, unless that field is its key. */
export function tiesOf({ key, served }: Collection): Ties | undefined {
  if (served?.paging.scheme !== 'cursor' || served.paging.last === undefined) return undefined;
  const { last } = served.paging;
  return key.length === 1 && key[0] === last ? undefined : new Ties(served, last);
}

/**
 * The borders between pages of a list that continues after a field of the last row. Unless the service repeats them, rows with that row's
 * value are left out at a border, and nothing else shows that there are any.
 */
class Ties {
  readonly #borders: { readonly number: number; readonly before: string | undefined; readonly value: string }[] = [];
  /** The value of the last row, and the last different value before it. */
  #value: string | undefined;
  #before: string | undefined;

  constructor(
    private readonly served: Served,
    readonly field: string,
  ) {}

  take(page: Page): void {
    for (const value of this.#valuesOf(batchOf(page))) if (value !== this.#value) [this.#before, this.#value] = [this.#value, value];
    if (this.#value !== undefined) this.#borders.push({ number: page.number, before: this.#before, value: this.#value });
  }

  /** Requests what follows the last different value before each border. @throws {SourceError} `E_SOURCE_CURSOR` for rows left out. */
  async check(ask: Ask, reading: FirstRead): Promise<void> {
    const { reader, seen, progress, consistency } = reading;
    const [path] = reader.collection.paths;
    for (const { number, before, value } of this.#borders) {
      const position = positionAt(this.served, path, reader.limit, before);
      const { batch } = await ask(reader.request({ page: number, position, purpose: 'probe' }));
      consistency.probes += 1;
      const [values, names] = [this.#valuesOf(batch), reading.namesOf(batch)];
      const isOne = batch.length > 1 && batch.length >= progress.largest && values.every((each) => each === value);
      if (!isOne && values.every((each, row) => each !== value || seen?.inThisPass(itemAt(names, row)))) continue;
      const what = isOne ? 'a whole page has the same' : 'rows were left out that have the same';
      throw refused(reader, 'E_SOURCE_CURSOR', `page ${number} cannot be continued after its last row: ${what} ${this.field}`);
    }
  }

  #valuesOf(batch: RecordBatch): readonly (string | undefined)[] {
    const values = batch.columns.get(this.field);
    return Array.from({ length: batch.length }, (_, row) => values?.value(row)?.toString());
  }
}
