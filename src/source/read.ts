import { EMPTY, concat, defer, map, switchMap, type Observable } from 'rxjs';
import type { CollectionReader } from './fetch/reader.js';
import { type Row, newConsistency, StepError, type Consistency } from '../core/index.js';
import { batchOf, Drain, countOf, failureAt, task, type Page, withBatch } from '../flow/index.js';
import { LinkedList } from './linked.js';
import { openList, Pages } from './list.js';
import { NumberedList } from './numbered.js';
import type { ReadingOptions } from './options.js';
import { firstPageOf, type ListReader } from './paging.js';
import { crawl, type List, Passes } from './passes.js';
import { isSequential } from './fetch/request.js';
import { faultColumn } from './decode/findings.js';
import { FirstRead } from './seen-rows.js';
import { WholeList } from './whole.js';

/**
 * Reads the pages of a collection, in page order, to the confirmed end, and checks them for completeness: each row is emitted once, and
 * missed rows that further passes find follow the last page.
 * @param conclude Judges the results after the last page; its failure fails the read.
 * @throws {SourceError} `E_SOURCE_ORDER`, `E_SOURCE_PAGE_CAP`, `E_SOURCE_ENDLESS`, `E_SOURCE_PAGE_IGNORED`, and any failure of a page.
 */
export function readPages<T extends Row>(
  reader: CollectionReader<T>,
  options: ReadingOptions,
  consistency: Consistency = newConsistency(options.consistency),
  conclude: () => Observable<never> = () => EMPTY,
): Observable<Page<T>> {
  const named = (page: Page) => withBatch(page, reader.findings.named(batchOf(page)));
  const onPage = (page: Page) => options.onPage?.(named(page));
  const read = { ...options, onPage, firstPage: firstPageOf(reader.collection, options) };
  const pages$ = watched(reader, read, consistency, (watching) => concat(pagesOf(reader, watching, consistency), defer(conclude)));
  // The reader determines the row type.
  return pages$.pipe(map((page) => unambiguous(named(page), reader, options))) as Observable<Page<T>>;
}

/** Removes rows in which a field has several values, unless `onFault` keeps them with `null`. */
function unambiguous(page: Page, { collection, findings }: ListReader, { at = collection.name, onFault }: ReadingOptions): Page {
  const batch = batchOf(page);
  const faults = batch.columns.get(faultColumn);
  if (!faults) return page;
  const clear = batch.select([...batch.columns.keys()].filter((name) => name !== faultColumn));
  const kept = clear.filter((index) => {
    const key = faults.value(index);
    if (key === null) return true;
    const [row, field, reason] = [clear.row(index), findings.nameOf(String(key)), 'occurs twice in its record, with different values'];
    const place = { page: page.number, index };
    if (onFault) return onFault(row, { field, reason, ...place });
    throw failureAt({ at, ...place, row }, (where) => new StepError('E_STEP_VALUE', `${at}: field ${field} ${reason} in ${where}`));
  });
  return withBatch(page, kept);
}

function pagesOf(given: ListReader, options: ReadingOptions, consistency: Consistency): Observable<Page> {
  // Without a key, rows are distinguished by their whole content.
  const reader = consistency.onDuplicateKey === 'keep_all' ? { ...given, collection: { ...given.collection, key: [] } } : given;
  const reading = new FirstRead(reader, options, consistency);
  if (isSequential(reader.collection.served)) return new ListRead(new LinkedList(reading)).pages();
  return openList(reading.reader, options).pipe(
    map((list) => (list instanceof Pages ? new NumberedList(reading, list) : new WholeList(reading, list))),
    switchMap((list) => new ListRead(list).pages()),
  );
}

/** The first read of a list, and what follows it: checks of the end, further passes, and rows added after the end. */
class ListRead {
  readonly #drain = new Drain();

  constructor(private readonly list: List) {}

  pages(): Observable<Page> {
    const { list } = this;
    const { options, consistency } = list.reading;
    return concat(
      this.#crawl(list.start ?? list.firstPage),
      defer(() => {
        // As after a limit, nothing is known of the rest.
        if (options.range?.to !== undefined) return options.range.checked ? this.#checks() : EMPTY;
        options.onEnd?.(() => list.lookAgain().pipe(map((next) => next !== undefined)));
        consistency.counted = list.counting;
        return this.#checks();
      }),
      defer(() => this.#lookAgain()),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  /** Reads the pages from a number to the confirmed end, each with only its new rows. */
  #crawl(firstPage: number): Observable<Page> {
    const { list } = this;
    return crawl(list.reading, list, firstPage).pipe(
      map((page) => {
        const rows = list.reading.take(page);
        list.take(page, rows);
        return rows.fresh;
      }),
    );
  }

  #checks(): Observable<Page> {
    const { list } = this;
    const { reading } = list;
    const { consistency, seen } = reading;
    return task(async (ask) => {
      const { mode } = consistency;
      const settled = mode === 'off' || (await list.check(ask));
      await reading.checkKeys(ask, (page) => list.again(page));
      const unread = await reading.findUnread(ask);
      if (unread) reading.drift(`${unread.where} has rows that were not read`);
      const isPart = reading.options.range !== undefined;
      if (mode !== 'off') consistency.outcome = reading.drifted || (!settled && (mode === 'check' || isPart)) ? 'drifted' : 'stable';
      // A part of a list is not repaired: the caller reads all of it.
      if (isPart) return false;
      if (mode === 'prove' || (mode === 'repair' && (reading.drifted || !settled))) return true;
      // Rows that were there before page 1 was read, and still are, did not come meanwhile.
      if (unread?.isBefore) consistency.outcome = 'unstable';
      return false;
    }).pipe(switchMap((needed) => (needed && seen ? new Passes(list, seen).pages() : EMPTY)));
  }

  #lookAgain(): Observable<Page> {
    const { list } = this;
    const { options, consistency } = list.reading;
    if (!list.unsettled || options.range?.to !== undefined) return EMPTY;
    return task(async (ask) => {
      if (options.lookAgain) await this.#drain.empty();
      return ask(list.lookAgain());
    }).pipe(
      switchMap((next) => {
        if (list.reading.drifted && consistency.outcome === 'stable') consistency.outcome = 'drifted';
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
