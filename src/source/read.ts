import { EMPTY, concat, defer, map, switchMap, type Observable, of, filter } from 'rxjs';
import type { CollectionReader, ListAnswer } from './fetch/reader.js';
import { itemAt, type Row, newConsistency, type Consistency, amountOf, SourceError } from '../core/index.js';
import { defaults } from '../options/index.js';
import type { RecordBatch } from '../vector/index.js';
import { Drain, countOf, pagedBatches, task, type Ask, type Page, pageOf } from '../flow/index.js';
import { EndOfList, endWait } from './end.js';
import { openList, Pages } from './list.js';
import { windowOf, type ReadingOptions } from './options.js';
import { firstPageOf, type ListReader } from './paging.js';
import { Passes } from './passes.js';
import { Positions, Probes } from './probes.js';
import { isSequential } from './fetch/request.js';
import { SequentialRead } from './sequence.js';
import { maxProbes, namesOf, Reading, type Repeat, type ReadSettings } from './seen-rows.js';

/**
 * Reads the pages of a collection, in page order, to the confirmed end, and checks them for completeness: each row is emitted once, and
 * missed rows found by further passes follow the last page.
 *
 * @param consistency Receives the results of the check, before the stream completes.
 * @param conclude Judges the results after the last page; its failure fails the read.
 * @throws {SourceError} `E_SOURCE_ORDER`, `E_SOURCE_PAGE_CAP`, `E_SOURCE_ENDLESS`, `E_SOURCE_PAGE_IGNORED` if the list cannot be read to
 * its end, and any failure of a page.
 */
export function readPages<T extends Row>(
  reader: CollectionReader<T>,
  options: ReadingOptions,
  consistency: Consistency = newConsistency(options.consistency),
  conclude: () => Observable<never> = () => EMPTY,
): Observable<Page<T>> {
  const read = { ...options, firstPage: firstPageOf(reader.collection, options) };
  const pages$ = watched(reader, read, consistency, (watching) => concat(pagesOf(reader, watching, consistency), defer(conclude)));
  // The reader determines the row type of the batches.
  return pages$ as Observable<Page<T>>;
}

function pagesOf(reader: ListReader, options: ReadingOptions, consistency: Consistency): Observable<Page> {
  const settings = { reader, options, consistency };
  if (isSequential(reader.collection.served)) return new SequentialRead(new Reading(settings)).pages();
  return openList(reader, options).pipe(
    switchMap((list) => (list instanceof Pages ? new ListRead(new Reading(settings), list) : new AnswerRead(settings, list)).pages()),
  );
}

/** The first read of a paged list, and its state. */
class ListRead {
  readonly #positions: Positions;
  readonly #end: EndOfList;
  readonly #drain = new Drain();
  /** Some of the repeated rows, with their positions; at most `maxProbes` per page. */
  readonly #repeats: Repeat[] = [];
  #repeated = 0;
  readonly #stale: StalePages;

  constructor(
    private readonly reading: Reading,
    private readonly list: Pages,
  ) {
    this.#stale = new StalePages(list, reading);
    this.#positions = new Positions(list, reading);
    this.#end = new EndOfList(list, reading.progress, this.#positions, reading);
  }

  /** Emits the pages of the list, the rows that were missed, and rows added after the end meanwhile. */
  pages(): Observable<Page> {
    return concat(
      this.#crawl(this.list.firstPage),
      defer(() => {
        this.reading.options.onEnd?.(() => this.#end.lookAgain().pipe(map((next) => next !== undefined)));
        this.reading.consistency.counted = this.#end.counting;
        return this.reading.consistency.mode === 'off' ? EMPTY : this.#checks();
      }),
      defer(() => (this.reading.options.lookAgain ? this.#lookAgain() : EMPTY)),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  /** Reads the pages from a number to the confirmed end. */
  #crawl(firstPage: number): Observable<Page> {
    const { concurrency = defaults.concurrency } = this.reading.options;
    return pagedBatches((number) => this.#fetch(number), {
      name: this.reading.reader.collection.name,
      window: windowOf(this.reading.options),
      concurrency,
      firstPage,
      confirmEnd: (end) => this.#end.confirm(end),
    }).pipe(map((page) => this.#keep(page)));
  }

  #fetch(number: number): Observable<RecordBatch> {
    const batch$ = defer(() => {
      // A page already read must be requested again if the list continues in it.
      const fresh = number <= (this.reading.progress.last?.number ?? -Infinity);
      return this.list.page(number, fresh).pipe(map(({ batch }) => batch));
    });
    return defer(() => this.#stale.lookBehind(number)).pipe(switchMap(() => batch$));
  }

  /** Processes a page of the list, and returns it with only its new rows. */
  #keep(page: Page): Page {
    const { fresh, names, position, repeats, isStale } = this.reading.take(page);
    if (isStale !== undefined) this.#stale.take(isStale);
    if (isStale) this.reading.drift(`page ${page.number} has no new rows`);
    this.#repeated += repeats.length;
    for (const { row, first } of repeats.slice(0, maxProbes))
      this.#repeats.push({ first, position: position + row, name: itemAt(names, row) });
    return fresh;
  }

  /** Re-checks some pages and repeated rows, then runs the passes if needed. */
  #checks(): Observable<Page> {
    const { reading } = this;
    const { consistency } = reading;
    return task(async (ask) => {
      const probes = new Probes(this.list, this.#positions, reading);
      if (consistency.mode !== 'prove') await probes.pages(ask);
      const settled = await this.#repeatsSettle(ask, probes);
      const { short } = reading.progress;
      // Only a count of the rows detects rows missing from a page.
      if (short !== undefined && this.#end.counting !== 'rows') reading.drift(`page ${short} is shorter than others`);
      consistency.growing = this.#end.growing;
      consistency.outcome = reading.drifted ? 'drifted' : 'stable';
      if (!settled && consistency.mode === 'check') consistency.outcome = 'drifted';
      return consistency.mode === 'prove' || (consistency.mode === 'repair' && (reading.drifted || !settled));
    }).pipe(switchMap((needed) => (needed ? this.#passes() : EMPTY)));
  }

  /**
   * @returns Whether every repeated row is where it was read.
   */
  async #repeatsSettle(ask: Ask, probes: Probes): Promise<boolean> {
    if (this.#repeated === 0) return true;
    return this.#end.counting === 'rows' && (await probes.repeats(ask, this.#repeats)) === this.#repeated;
  }

  #passes(): Observable<Page> {
    const { seen, progress, ...first } = this.reading;
    if (!seen) return EMPTY;
    return new Passes({
      ...first,
      seen,
      list: this.list,
      rows: progress.rows,
      repeated: this.#repeated,
      lastNumber: progress.last?.number ?? 0,
      endOf: (passed, passing) => new EndOfList(passed, passing, this.#positions, this.reading),
      count: (guess) => this.#positions.count(guess),
    }).pages();
  }

  /** Reads rows added after the end, once everything else is done. */
  #lookAgain(): Observable<Page> {
    return task(async (ask) => {
      await this.#drain.empty();
      return ask(this.#end.lookAgain());
    }).pipe(
      switchMap((next) => {
        this.reading.consistency.growing = this.#end.growing;
        return next === undefined ? EMPTY : concat(this.#crawl(next), this.#lookAgain());
      }),
    );
  }
}

/** Publishes the read of a list, and its pages as they arrive. Code that relies on the counts uses `onPage` instead. */
function watched(
  { collection: { name: collection } }: ListReader,
  options: ReadingOptions,
  consistency: Consistency,
  read: (options: ReadingOptions) => Observable<Page>,
): Observable<Page> {
  const { events, at } = options;
  if (!events) return defer(() => read(options));
  return defer(() => {
    let [pages, rows] = [0, 0];
    const onPage = (page: Page) => {
      options.onPage?.(page);
      pages += 1;
      rows += countOf(page);
      events.emit('page', () => ({ collection, at, number: page.number, rows: countOf(page), pages, read: rows }));
    };
    return events.during$(
      'read',
      () => ({ collection, at, expected: options.expectedRows }),
      defer(() => read({ ...options, onPage })),
      () => ({ pages, read: rows, outcome: consistency.outcome, repaired: consistency.repaired }),
    );
  });
}

/** Counts consecutive pages without new rows; after some of them it checks whether the list has an end at all. */
class StalePages {
  #pages = 0;
  /** Number of such pages before the check; doubled for the next one. */
  #patience: number;

  constructor(
    private readonly list: Pages,
    private readonly settings: ReadSettings,
  ) {
    this.#patience = Math.max(10, windowOf(settings.options));
  }

  /** Records the next page. */
  take(isStale: boolean): void {
    this.#pages = isStale ? this.#pages + 1 : 0;
  }

  /**
   * Checks pages further on if there were too many.
   *
   * @throws {SourceError} `E_SOURCE_ENDLESS` if the list has rows however far ahead it is checked.
   */
  lookBehind(number: number): Observable<void> {
    if (this.#pages <= this.#patience) return of(undefined);
    return task(async (ask) => {
      const { firstPage } = this.list;
      const at = (times: number) => firstPage + times * (number - firstPage);
      if ((await this.#hasRows(ask, at(2))) && (await this.#hasRows(ask, at(4)))) {
        const what = `${amountOf(this.#pages, 'page')} up to page ${number - 1} ${this.#pages === 1 ? 'has' : 'have'} no new rows`;
        const message = `${this.settings.reader.collection.name}: ${what}, and pages ${at(2)} and ${at(4)} have rows, too`;
        throw new SourceError('E_SOURCE_ENDLESS', 'permanent', message);
      }
      this.#patience *= 2;
    });
  }

  async #hasRows(ask: Ask, number: number): Promise<boolean> {
    return (await ask(this.list.probe(number))).batch.length > 0;
  }
}

/** The read of a list that comes in one answer, and its state. */
class AnswerRead {
  readonly #drain = new Drain();
  /** Names of the rows, which identify them, in order. */
  #names: readonly string[] = [];

  constructor(
    private readonly settings: ReadSettings,
    private readonly whole: ListAnswer,
  ) {}

  /** Emits the answer as a page, then the rows missed, found by later requests, as further pages. */
  pages(): Observable<Page> {
    return concat(
      this.#first(),
      defer(() => {
        const { options, consistency } = this.settings;
        options.onEnd?.(() => this.#again().pipe(map((batch) => this.#missing(this.#namesOf(batch)).length > 0)));
        return consistency.mode === 'off' ? EMPTY : this.#compare();
      }),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  #first(): Observable<Page> {
    return task(async (ask) => {
      const { batch } = this.whole;
      if (batch.length > 0) return batch;
      await endWait(this.settings, ask, 0);
      return (await ask(this.settings.reader.request({ fresh: true }))).batch;
    }).pipe(
      filter((batch) => batch.length > 0),
      map((batch) => {
        this.#names = this.#namesOf(batch);
        const page = pageOf(1, batch, { release: () => {} });
        this.settings.options.onPage?.(page);
        return page;
      }),
    );
  }

  /** Requests the current state of the list. */
  #again(): Observable<RecordBatch> {
    return this.settings.reader.request({ purpose: 'probe' }).pipe(map(({ batch }) => batch));
  }

  #namesOf(batch: RecordBatch): readonly string[] {
    return namesOf(batch, this.settings.reader.collection.key);
  }

  /** An answer is a snapshot; it is requested again, since that moment may have been a bad one. */
  #compare(): Observable<Page> {
    const { consistency, options } = this.settings;
    consistency.outcome = 'stable';
    consistency.counted = 'pages';
    return defer(() => (options.lookAgain ? this.#drain.empty() : of(undefined))).pipe(switchMap(() => this.#pass(1, 0)));
  }

  /**
   * Requests the list again.
   *
   * @param clean Number of consecutive answers without missed rows.
   */
  #pass(number: number, clean: number): Observable<Page> {
    const { consistency, options } = this.settings;
    const { mode } = consistency;
    return this.#again().pipe(
      switchMap((batch) => {
        consistency.probes += 1;
        const names = this.#namesOf(batch);
        const same = sameTexts(names, this.#names);
        const missing = this.#missing(names);
        if (!same && consistency.drift.length === 0) consistency.drift.push('the list has changed');
        if (mode === 'check') {
          consistency.outcome = same ? 'stable' : 'drifted';
          return EMPTY;
        }
        const cleanNow = missing.length === 0 ? clean + 1 : 0;
        consistency.repaired += missing.length;
        this.#names = [...this.#names, ...missing.map((row) => itemAt(names, row))];
        const found$ = missing.length === 0 ? EMPTY : of(pageOf(number + 1, batch.take(missing), { release: () => {} }));
        if (cleanNow >= (mode === 'prove' ? 2 : 1)) {
          const isStill = consistency.drift.length === 0;
          consistency.outcome = mode === 'prove' ? 'proven' : isStill ? 'stable' : 'repaired';
          return found$;
        }
        if (number >= (options.maxPasses ?? defaults.maxPasses)) {
          consistency.passes = number;
          consistency.outcome = 'unstable';
          return found$;
        }
        return concat(found$, this.#pass(number + 1, cleanNow));
      }),
    );
  }

  /** Returns the rows of a later answer that the first one lacked. */
  #missing(names: readonly string[]): readonly number[] {
    const known = new Set(this.#names);
    return names.flatMap((name, row) => (known.has(name) ? [] : [row]));
  }
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
