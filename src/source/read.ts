import { isDeepStrictEqual } from 'node:util';
import { EMPTY, concat, defer, map, switchMap, type Observable, of, filter } from 'rxjs';
import type { CollectionReader } from './fetch/reader.js';
import { itemAt, type Row, newConsistency, type Consistency } from '../core/index.js';
import { defaults } from '../options/index.js';
import type { RecordBatch } from '../vector/index.js';
import { Drain, countOf, task, type Page, pageOf } from '../flow/index.js';
import { endWait } from './end.js';
import { LinkedList } from './linked.js';
import { openList, Pages } from './list.js';
import { NumberedList } from './numbered.js';
import type { ReadingOptions } from './options.js';
import { firstPageOf, type ListReader } from './paging.js';
import { crawl, type List, Passes } from './passes.js';
import { isSequential } from './fetch/request.js';
import { namesOf, noteConflicts, Reading, type ReadSettings, SeenRows, withRowsOf } from './seen-rows.js';

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

function pagesOf(given: ListReader, options: ReadingOptions, consistency: Consistency): Observable<Page> {
  // Without a key, rows are told apart by their whole content.
  const reader = consistency.onDuplicateKey === 'keep_all' ? { ...given, collection: { ...given.collection, key: [] } } : given;
  const begin = () => new Reading(reader, options, consistency);
  if (isSequential(reader.collection.served)) return new ListRead(new LinkedList(begin())).pages();
  return openList(reader, options).pipe(
    switchMap((list) => {
      if (list instanceof Pages) return new ListRead(new NumberedList(begin(), list)).pages();
      return new AnswerRead({ reader, options, consistency }, list).pages();
    }),
  );
}

/** The first read of a list, and what follows it: re-checks, further passes, and rows added after the end. */
class ListRead {
  readonly #drain = new Drain();

  constructor(private readonly list: List) {}

  pages(): Observable<Page> {
    const { list } = this;
    const { options, consistency } = list.reading;
    return concat(
      this.#crawl(list.firstPage),
      defer(() => {
        options.onEnd?.(() => list.lookAgain().pipe(map((next) => next !== undefined)));
        consistency.counted = list.counting;
        return consistency.mode === 'off' ? EMPTY : this.#checks();
      }),
      defer(() => this.#lookAgain()),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  /** Reads the pages from a number to the confirmed end, each with only its new rows. */
  #crawl(firstPage: number): Observable<Page> {
    const { list } = this;
    return crawl(list.reading, list, firstPage).pipe(
      map((page) => {
        const taken = list.reading.take(page);
        list.take(page, taken);
        return taken.fresh;
      }),
    );
  }

  #checks(): Observable<Page> {
    const { list } = this;
    const { reading } = list;
    const { consistency, seen } = reading;
    return task(async (ask) => {
      const settled = await list.check(ask);
      await reading.checkKeys(ask, (page) => list.again(page));
      consistency.outcome = reading.drifted || (!settled && consistency.mode === 'check') ? 'drifted' : 'stable';
      if (consistency.mode === 'prove') return !list.blind;
      return consistency.mode === 'repair' && (reading.drifted || !settled);
    }).pipe(switchMap((needed) => (needed && seen ? new Passes(list, seen).pages() : EMPTY)));
  }

  #lookAgain(): Observable<Page> {
    const { list } = this;
    const { options, consistency } = list.reading;
    if (!list.unsettled) return EMPTY;
    return task(async (ask) => {
      if (options.lookAgain) await this.#drain.empty();
      return ask(list.lookAgain());
    }).pipe(
      switchMap((next) => {
        consistency.growing = list.growing;
        return next === undefined
          ? EMPTY
          : concat(
              this.#crawl(next),
              defer(() => this.#lookAgain()),
            );
      }),
    );
  }
}

/** Publishes the read of a list, and its pages as they arrive. */
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

/** The read of a list that comes in one answer. */
class AnswerRead {
  readonly #drain = new Drain();
  #names: readonly string[] = [];

  constructor(
    private readonly settings: ReadSettings,
    private readonly whole: RecordBatch,
  ) {}

  /** Emits the answer as a page, then the rows missed, found by later requests, as further pages. */
  pages(): Observable<Page> {
    return concat(
      this.#first(),
      defer(() => {
        const { options, consistency } = this.settings;
        options.onEnd?.(() => this.#again().pipe(map(({ missing }) => missing.length > 0)));
        return consistency.mode === 'off' ? EMPTY : this.#compare();
      }),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  #first(): Observable<Page> {
    return task(async (ask) => {
      if (this.whole.length > 0) return this.whole;
      await endWait(this.settings, ask, 0);
      return (await ask(this.settings.reader.request({ fresh: true }))).batch;
    }).pipe(
      filter((batch) => batch.length > 0),
      map((batch) => {
        const { consistency, options } = this.settings;
        const { names, kept } = this.#rowsOf(batch);
        this.#names = names;
        const page = pageOf(1, batch, { release: () => {} });
        options.onPage?.(page);
        consistency.duplicates += batch.length - kept.length;
        return withRowsOf(page, batch, kept);
      }),
    );
  }

  /** Requests the list again, and finds the rows that were missing. */
  #again() {
    return this.settings.reader.request({ purpose: 'probe' }).pipe(
      map(({ batch }) => {
        const known = new Set(this.#names);
        const { names, kept } = this.#rowsOf(batch);
        return { batch, names, missing: kept.filter((row) => !known.has(itemAt(names, row))) };
      }),
    );
  }

  /** Names the rows of an answer, and looks for different ones of one key. @returns Also which to keep: all, or the first of each key. */
  #rowsOf(batch: RecordBatch) {
    const { reader, consistency } = this.settings;
    const names = namesOf(batch, reader.collection.key);
    if (consistency.mode === 'off') return { names, kept: [...names.keys()] };
    const { fresh, conflicts } = new SeenRows(batch.length).take(batch, names);
    if (consistency.conflicts === 0) noteConflicts(this.settings, batch, conflicts, 'in one answer');
    return { names, kept: consistency.onDuplicateKey === 'keep_first' ? fresh : [...names.keys()] };
  }

  /** An answer is a snapshot; it is requested again, since that moment may have been a bad one. */
  #compare(): Observable<Page> {
    const { consistency, options } = this.settings;
    consistency.outcome = 'stable';
    consistency.counted = 'pages';
    return defer(() => (options.lookAgain ? this.#drain.empty() : of(undefined))).pipe(switchMap(() => this.#pass(1, 0)));
  }

  /** @param clean Number of consecutive answers without missed rows. */
  #pass(number: number, clean: number): Observable<Page> {
    const { consistency, options } = this.settings;
    const { mode } = consistency;
    return this.#again().pipe(
      switchMap(({ batch, names, missing }) => {
        consistency.probes += 1;
        const same = isDeepStrictEqual(names, this.#names);
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
          consistency.outcome = mode === 'prove' ? 'proven' : consistency.drift.length === 0 ? 'stable' : 'repaired';
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
}
