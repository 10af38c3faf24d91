import { AsyncSubject, defer, map, of, switchMap, tap, throwError, type Observable } from 'rxjs';
import type { ListAnswer } from './fetch/listing.js';
import { SourceError } from '../core/index.js';
import { RecordBatch } from '../vector/index.js';
import { fingerprintOf } from './fingerprint.js';
import type { PagedList, ListReader } from './paging.js';

/**
 * The pages of a list by number. Each is compared with the one before it, in whatever order the answers arrive: a page waits for the
 * fingerprint of its neighbour, unless the neighbour may never be requested.
 */
export class Pages implements PagedList {
  readonly paged = true;
  /** Pages that repeat the one before them. */
  readonly #repeats = new Set<number>();
  /** The fingerprint of each page, for the page after it, and the pages waiting for one. */
  readonly #fingerprints = new Map<number, string>();
  readonly #waiting = new Map<number, AsyncSubject<string>>();
  readonly #asked = new Set<number>();
  /** Pages after the first one that seems to be the end may never be requested, so nothing may wait for their fingerprints. */
  #seemingEnd = Infinity;

  /**
   * @param seeds Pages already read; each is used once.
   * @param maxPages Maximum number of pages with rows.
   */
  constructor(
    private readonly reader: ListReader,
    readonly firstPage: number,
    readonly limit: number,
    private readonly seeds: Map<number, ListAnswer>,
    private readonly maxPages: number,
  ) {}

  page(number: number, fresh = false): Observable<ListAnswer> {
    return this.#read(number, fresh).pipe(
      switchMap((answer) => {
        if (answer.batch.length === 0) return of(this.#noRowsOn(number));
        if (number - this.firstPage >= this.maxPages) return throwError(() => this.#tooManyPages(number));
        if (number === this.#seemingEnd) this.#seemingEnd = Infinity;
        if (number === this.firstPage) return of(answer);
        return this.#fingerprint(number - 1).pipe(
          map((before) => {
            if (before !== answer.fingerprint) {
              this.#repeats.delete(number);
              return answer;
            }
            this.#repeats.add(number);
            return this.#noRowsOn(number);
          }),
        );
      }),
    );
  }

  get repeated(): number | undefined {
    return this.#repeats.size === 0 ? undefined : Math.min(...this.#repeats);
  }

  again(number: number): Observable<ListAnswer> {
    // The next page is compared with the current state of this one.
    return this.reader
      .request({ page: number, limit: this.limit, fresh: true })
      .pipe(tap(({ batch }) => this.#fingerprints.set(number, fingerprintOf(batch))));
  }

  probe(number: number): Observable<ListAnswer> {
    return this.sized(number, this.limit);
  }

  sized(number: number, limit: number): Observable<ListAnswer> {
    return this.reader.request({ page: number, limit, purpose: 'probe' });
  }

  row(position: number): Observable<ListAnswer> {
    return this.sized(this.firstPage + position, 1);
  }

  #read(page: number, fresh: boolean): Observable<ListAnswer & { readonly fingerprint: string }> {
    return defer(() => {
      const seed = this.seeds.get(page);
      this.seeds.delete(page);
      this.#asked.add(page);
      return seed && !fresh ? of(seed) : this.reader.request({ page, limit: this.limit, fresh });
    }).pipe(
      map((answer) => ({ ...answer, fingerprint: fingerprintOf(answer.batch) })),
      tap({ next: ({ fingerprint }) => this.#take(page, fingerprint), error: () => this.#take(page, '') }),
    );
  }

  /** Emits the fingerprint of a page, once known; empty if the page failed. A page that may never be requested looks like the last page. */
  #fingerprint(page: number): Observable<string> {
    const known = this.#fingerprints.get(page) ?? (page > this.#seemingEnd && !this.#asked.has(page) ? this.#lastLook : undefined);
    if (known !== undefined) return of(known);
    const subject = this.#waiting.get(page) ?? new AsyncSubject<string>();
    this.#waiting.set(page, subject);
    return subject;
  }

  /** The fingerprint after the seeming end, if the service repeats its last page there. */
  get #lastLook(): string {
    return this.#fingerprints.get(this.#seemingEnd - 1) ?? '';
  }

  #take(page: number, fingerprint: string): void {
    this.#fingerprints.set(page, fingerprint);
    this.#announce(page, fingerprint);
  }

  #announce(page: number, fingerprint: string): void {
    this.#waiting.get(page)?.next(fingerprint);
    this.#waiting.get(page)?.complete();
    this.#waiting.delete(page);
  }

  /** Returns a page without rows of its own; later ones need not be requested. */
  #noRowsOn(page: number): ListAnswer {
    this.#seemingEnd = Math.min(this.#seemingEnd, page);
    for (const awaited of this.#waiting.keys())
      if (awaited > this.#seemingEnd && !this.#asked.has(awaited)) this.#announce(awaited, this.#lastLook);
    return { batch: RecordBatch.empty, body: new Uint8Array() };
  }

  #tooManyPages(number: number): SourceError {
    const message = `${this.reader.collection.name}: page ${number} has rows, but max_pages is ${this.maxPages}`;
    return new SourceError('E_SOURCE_MAX_PAGES', 'permanent', message);
  }
}
