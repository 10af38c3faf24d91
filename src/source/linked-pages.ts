import { catchError, type Observable } from 'rxjs';
import { amountOf, SourceError } from '../core/index.js';
import { task, type Ask } from '../flow/index.js';
import { RecordBatch } from '../vector/index.js';
import { unlessRefused } from './failures.js';
import type { ListAnswer } from './fetch/listing.js';
import type { Position } from './fetch/next-page.js';
import type { ListReader } from './paging.js';

/** Options for requesting linked pages. */
export interface LinkedPagesOptions {
  readonly purpose: 'page' | 'probe';
  /** Maximum number of pages with rows. Default: no limit. */
  readonly maxPages: number | undefined;
  /** Maximum number of consecutive pages without anything new. */
  readonly patience: number;
}

/**
 * The pages of a list in which each points to the next. They are numbered as they arrive; answers without rows that point to a next page have no number.
 *
 * Memory: the position of each page, and of each answer without rows.
 */
export class LinkedPages {
  /** The known positions of pages; `undefined` for the first one. */
  readonly #positions: (Position | undefined)[] = [undefined];
  /** The page that named each position. */
  readonly #named = new Map<string, number>();
  /** The answers without rows that pointed to a next page, with the number that each would have had. */
  readonly #empty: { readonly number: number; readonly position: Position | undefined }[] = [];
  /** The answer that pointed to no next page: the number it would have, and its position. */
  #end: { readonly number: number; readonly position: Position | undefined } | undefined;
  #fresh: number | undefined;
  #stale = 0;

  constructor(
    private readonly reader: ListReader,
    private readonly options: LinkedPagesOptions,
  ) {}

  /**
   * Reads the first page, or the one after a page that was read; it has no rows after the last.
   *
   * @throws {SourceError} `E_SOURCE_CURSOR` if two pages point to the same next page, `E_SOURCE_ENDLESS` and `E_SOURCE_MAX_PAGES`.
   */
  page(number: number): Observable<RecordBatch> {
    return task(async (ask) => {
      const { patience } = this.options;
      for (let position = this.#positions[number - 1]; number <= this.#positions.length;) {
        if (this.#stale > patience) throw this.#endless(number);
        const { batch, next } = await this.#asked(ask, number, position);
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

  /** Records how many rows of a page were new. */
  notice(fresh: number): void {
    this.#stale = fresh === 0 ? this.#stale + 1 : 0;
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
    const { number, position } = this.#end ?? { number: 1, position: undefined };
    return { number, answer$: this.#at(number, position) };
  }

  /** Continues where the list ended. @returns The number of the page to read. */
  reopen(): number {
    const { number, position } = this.#end ?? { number: 1, position: undefined };
    this.#positions.length = number;
    this.#positions[number - 1] = position;
    this.#fresh = number;
    return number;
  }

  /**
   * Requests an answer again if it has no rows in the middle of a list, which may be an error of the service; a second one with rows replaces it.
   */
  async #asked(ask: Ask, number: number, position: Position | undefined): Promise<ListAnswer> {
    const request = { page: number, position, purpose: this.options.purpose };
    const first = await ask(this.reader.request({ ...request, fresh: number === this.#fresh }));
    if (first.batch.length > 0 || first.next === undefined) return first;
    // A single-use cursor may return no rows and no next page the second time; the first answer has the next page.
    const second = await ask(this.reader.request({ ...request, fresh: true }).pipe(catchError(unlessRefused)));
    return second && second.batch.length > 0 ? second : first;
  }

  #taken(number: number, position: Position | undefined, batch: RecordBatch, next: Position | undefined): RecordBatch {
    const { maxPages = Infinity } = this.options;
    const { name } = this.reader.collection;
    if (number > maxPages)
      throw new SourceError('E_SOURCE_MAX_PAGES', 'permanent', `${name}: page ${number} has rows, but max_pages is ${maxPages}`);
    this.#positions[number - 1] = position;
    if (next !== undefined) this.#positions[number] = next;
    return batch;
  }

  #at(number: number, position: Position | undefined): Observable<ListAnswer | undefined> {
    return this.reader.request({ page: number, position, purpose: 'probe' }).pipe(catchError(unlessRefused));
  }

  /** Two pages must not point to the same next page. */
  #name(next: Position, number: number): void {
    const key = JSON.stringify(next);
    const before = this.#named.get(key) ?? number;
    if (before !== number) {
      const { name, served } = this.reader.collection;
      const what = served?.paging.scheme === 'link' ? 'link' : 'cursor';
      const message = `${name}: page ${number} has the same ${what} for the next page as page ${before}; the list would never end`;
      throw new SourceError('E_SOURCE_CURSOR', 'permanent', message);
    }
    this.#named.set(key, number);
  }

  #endless(number: number): SourceError {
    const message = `${this.reader.collection.name}: ${amountOf(this.#stale, 'page')} up to page ${number - 1} ${this.#stale === 1 ? 'has' : 'have'} no new rows, and there is always a next page`;
    return new SourceError('E_SOURCE_ENDLESS', 'permanent', message);
  }
}
