import { EMPTY, concat, defer, filter, map, of, switchMap, timer, type Observable } from 'rxjs';
import type { CollectionReader } from '../client/index.js';
import type { Row } from '../collections/index.js';
import { pickFrom, type Content } from '../columnar/index.js';
import { SourceError } from '../errors.js';
import { Drain, contentDigest, contentOf, pageOf, pagedSource, task, withRows, type Ask, type Page } from '../flow/index.js';
import { newConsistency, type Consistency, type ConsistencyMode } from './consistency.js';
import { EndOfList } from './end.js';
import { openList, type PagedList, type PagingOptions } from './list.js';
import { otherLimit, resized } from './other-limit.js';
import { SeenRows, namesOf, type Repeat } from './seen.js';
import { Trace } from './trace.js';

/** How a collection is read. */
export interface ReadingOptions extends PagingOptions {
  /** Pages in memory at once. Default: twice the concurrency. */
  readonly window?: number | undefined;
  /** Requests in flight at once. Default 4. */
  readonly concurrency?: number | undefined;
  /** How the read is checked for rows that moved while it went on. Default `off`. */
  readonly consistency?: ConsistencyMode | undefined;
  /** Most passes of `repair` and `prove`. Default 8, of a list without a stable order 30. */
  readonly maxPasses?: number | undefined;
  /**
   * How long an end that may be an outage is let rest before it is looked at again, in milliseconds: one where nothing is, and one behind
   * a full page. Default 5,000.
   */
  readonly endWaitMs?: number | undefined;
  /** Rows that the list had when it was read last; an end before them waits, and one behind them does not. Default: not known. */
  readonly expectedRows?: number | undefined;
  /** Told, at the confirmed end of the list, how to find out later whether rows have come behind it. */
  readonly onEnd?: ((hasMore: () => Observable<boolean>) => void) | undefined;
  /**
   * Whether the end is looked at once more when every page was released, so that what came meanwhile is read as well. Only for
   * chains that release what they get: others would wait for ever. Default false.
   */
  readonly lookAgain?: boolean | undefined;
  /** Told of every page of the list as it came, before the check. */
  readonly onPage?: ((page: Page) => void) | undefined;
}

/**
 * The pages of a collection, in page order, to its confirmed end, and checked for completeness: each row once, and behind the last
 * page those rows that further passes find it missed.
 *
 * @param consistency Gets what the check finds out, before the stream completes.
 * @throws {SourceError} `E_SOURCE_ORDER`, `E_SOURCE_PAGE_CAP`, `E_SOURCE_ENDLESS`, `E_SOURCE_PAGE_IGNORED` where the list cannot be
 * read to its end, and whatever a page fails with.
 */
export function readPages<T extends Row>(
  reader: CollectionReader<T>,
  options: ReadingOptions,
  consistency: Consistency = newConsistency(options.consistency),
): Observable<Page<T>> {
  return defer(() => openList(reader, options)).pipe(
    switchMap((list) => {
      const read = new ListRead(reader, list, options, consistency);
      return list.paged ? read.pages() : read.answer();
    }),
  );
}

/** Pages in memory at once. */
export function windowOf({ concurrency = 4, window = 2 * concurrency }: ReadingOptions): number {
  return window;
}

const maxProbes = 8;

/** One read of one list, with all that is known of it. */
class ListRead<T extends Row> {
  readonly #trace = new Trace();
  readonly #seen: SeenRows | undefined;
  readonly #looks = new Map<number, number>();
  readonly #end: EndOfList<T>;
  readonly #drain = new Drain();
  readonly #key: readonly string[];
  /** Some of the rows that came again, by where they did; at most `maxProbes` of a page. */
  readonly #repeats: Repeat[] = [];
  #repeated = 0;
  /** Pages in succession of nothing but known keys, and how many there may be before the end is looked for. */
  #stale = 0;
  #patience: number;
  #lastNumber = 0;
  #drifted = false;

  constructor(
    private readonly reader: CollectionReader<T>,
    private readonly list: PagedList<T>,
    private readonly options: ReadingOptions,
    private readonly consistency: Consistency,
  ) {
    this.#key = reader.collection.key;
    this.#seen = consistency.mode === 'off' ? undefined : new SeenRows();
    this.#patience = Math.max(10, windowOf(options));
    this.#end = this.#endOf(list, this.#trace, options.expectedRows ?? 0, (what) => this.#drift(what));
  }

  /** The pages of a list that has them. */
  pages(): Observable<Page<T>> {
    return concat(
      this.#crawl(this.list.firstPage),
      defer(() => {
        this.options.onEnd?.(() => this.#end.lookAgain().pipe(map((next) => next !== undefined)));
        this.consistency.counted = this.#end.counting;
        return this.consistency.mode === 'off' ? EMPTY : this.#checks();
      }),
      defer(() => (this.options.lookAgain ? this.#lookAgain() : EMPTY)),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  /** The one page of a list that comes in one answer. */
  answer(): Observable<Page<T>> {
    const first$ = task(async (ask) => {
      const content = await ask(this.list.page(1).pipe(map(({ content }) => content)));
      if (content.length > 0) return content;
      await ask(timer(this.options.endWaitMs ?? defaultEndWaitMs));
      return ask(this.list.again(1).pipe(map(({ content }) => content)));
    });
    return concat(
      first$.pipe(
        filter((content) => content.length > 0),
        map((content) => this.#keepAnswer(pageOf(1, content, { release: () => {} }))),
      ),
      defer(() => {
        this.options.onEnd?.(() => this.#hasChanged());
        return this.consistency.mode === 'off' ? EMPTY : this.#compareAnswer();
      }),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  #endOf(list: PagedList<T>, trace: Trace, expected: number, onDrift: (what: string) => void): EndOfList<T> {
    const { firstPage, endWaitMs: waitMs = defaultEndWaitMs } = this.options;
    // What a pass meets, the first read has told.
    const { strict, onWarning } = trace === this.#trace ? this.options : {};
    return new EndOfList(list, trace, {
      firstPage,
      strict,
      onWarning,
      collection: this.reader.collection.name,
      namesOf: (content) => namesOf(content, this.#key),
      known: (name) => (this.#seen ? this.#seen.inThisPass(name) : name === trace.first || name === trace.last?.name),
      onDrift,
      expected,
      waitMs,
    });
  }

  /** The pages from a number on, to the confirmed end. */
  #crawl(firstPage: number): Observable<Page<T>> {
    const { concurrency = 4 } = this.options;
    return pagedSource((number) => this.#fetch(number), {
      window: windowOf(this.options),
      concurrency,
      firstPage,
      confirmEnd: (end) => this.#end.confirm(end),
    }).pipe(map((page) => this.#keep(page)));
  }

  #fetch(number: number): Observable<Content<T>> {
    const content$ = defer(() => {
      // A page that was read has to be asked for again when the list goes on in it.
      const fresh = number <= (this.#trace.last?.number ?? -Infinity);
      return this.list.page(number, fresh).pipe(map(({ content }) => content));
    });
    return defer(() => (this.#stale > this.#patience ? this.#refuseEndless(number).pipe(switchMap(() => content$)) : content$));
  }

  /** Takes a page of the list, and lets the rows of it pass that were not there before. */
  #keep(page: Page<T>): Page<T> {
    const content = contentOf(page);
    const names = namesOf(content, this.#key);
    const { position, known } = this.#trace.take(page.number, content, names);
    this.#lastNumber = Math.max(this.#lastNumber, page.number);
    this.#looks.set(page.number, contentDigest(names));
    const all = Array.from({ length: content.length }, (_, row) => row);
    const sighting = this.#seen?.take(content, names);
    const isFresh = new Set(sighting?.fresh ?? all.slice(known));
    // Of a page that is read for the second time, only what is new has been read.
    const read = known === 0 ? all : all.filter((row) => row >= known || isFresh.has(row));
    const came = read.length === content.length ? page : withRows(page, pickFrom(content, read));
    this.options.onPage?.(came);
    this.consistency.duplicates += read.length - isFresh.size;
    if (known === 0) this.#notice(page.number, content.length, isFresh.size);
    if (sighting) {
      this.consistency.changed += known === 0 ? sighting.changed : 0;
      const again = sighting.repeats.filter((row) => row >= known);
      this.#repeated += again.length;
      for (const row of again.slice(0, maxProbes)) this.#repeats.push({ position: position + row, name: names[row] ?? '' });
    }
    return isFresh.size === content.length ? page : withRows(page, pickFrom(content, [...isFresh]));
  }

  /** Takes the whole of a list in one answer, in which a row that comes twice is there twice. */
  #keepAnswer(page: Page<T>): Page<T> {
    const content = contentOf(page);
    const names = namesOf(content, this.#key);
    this.#seen?.take(content, names);
    this.#looks.set(page.number, contentDigest(names));
    this.options.onPage?.(page);
    return page;
  }

  /** A page of nothing but known keys is no page of a list that stands still. */
  #notice(number: number, rows: number, fresh: number): void {
    if (!this.#seen || fresh > 0 || rows === 0) {
      this.#stale = 0;
      return;
    }
    this.#stale += 1;
    this.#drift(`page ${number} has no row that was not read before`);
  }

  /** A list that has rows however far one looks has no end. */
  #refuseEndless(number: number): Observable<void> {
    return task(async (ask) => {
      const { firstPage } = this.list;
      const at = (times: number) => firstPage + times * (number - firstPage);
      const [twice, fourTimes] = [await this.#rowsOn(ask, at(2)), await this.#rowsOn(ask, at(4))];
      if (twice > 0 && fourTimes > 0) {
        const { name } = this.reader.collection;
        const message = `${name}: ${this.#stale} pages up to page ${number - 1} have no row that was not read before, and pages ${at(2)} and ${at(4)} have rows, too`;
        throw new SourceError('E_SOURCE_ENDLESS', 'permanent', message);
      }
      this.#patience *= 2;
    });
  }

  async #rowsOn(ask: Ask, number: number): Promise<number> {
    return (await ask(this.list.probe(number))).content.length;
  }

  #drift(what: string): void {
    this.#drifted = true;
    if (this.consistency.drift.length < maxProbes) this.consistency.drift.push(what);
  }

  /** Looks at some pages again, and at rows that came again; then come the passes. */
  #checks(): Observable<Page<T>> {
    const { consistency } = this;
    return task(async (ask) => {
      if (consistency.mode !== 'prove') await this.#probePages(ask);
      const settled = await this.#probeRepeats(ask);
      consistency.growing = this.#end.growing;
      consistency.outcome = this.#drifted ? 'drifted' : 'stable';
      if (!settled && consistency.mode === 'check') consistency.outcome = 'drifted';
      return consistency.mode === 'prove' || (consistency.mode === 'repair' && (this.#drifted || !settled));
    }).pipe(switchMap((needed) => (needed ? this.#passes() : EMPTY)));
  }

  async #probePages(ask: Ask): Promise<void> {
    for (const number of evenly([...this.#looks.keys()], maxProbes)) {
      const { content } = await ask(this.list.probe(number));
      this.consistency.probes += 1;
      if (contentDigest(namesOf(content, this.#key)) !== this.#looks.get(number)) this.#drift(`page ${number} has changed`);
    }
  }

  /** @returns Whether every row that came again is where it was read. */
  async #probeRepeats(ask: Ask): Promise<boolean> {
    if (this.#repeated === 0) return true;
    if (this.#end.counting !== 'rows') return false;
    const asked = evenly(this.#repeats, maxProbes);
    for (const { position, name } of asked) {
      this.consistency.probes += 1;
      const now = await ask(this.#end.nameAt(position));
      if (now !== name) this.#drift(`row ${position + 1} had a key that came before, and is another one now`);
    }
    return asked.length === this.#repeated;
  }

  /** Further passes over the list, which let the rows pass that were missed so far, until one has missed nothing. */
  #passes(): Observable<Page<T>> {
    const seen = this.#seen;
    if (!seen) return EMPTY;
    const { consistency } = this;
    const clean = { passes: 0, wanted: consistency.mode === 'prove' ? 2 : 1 };
    /** Of an unordered list: its rows, and the place since which as many different keys have to be seen. */
    const whole = { rows: undefined as number | undefined, since: 0, keys: 0 };

    const pass$ = (number: number): Observable<Page<T>> =>
      defer(() => {
        seen.beginPass();
        const trace = new Trace();
        const gaps = new Gaps();
        let repeats = 0;
        const end = (list: PagedList<T>) => this.#endOf(list, trace, this.#trace.rows, () => {});
        const pages$ = openList(resized(this.reader, otherLimit(this.list.limit, number)), { firstPage: this.list.firstPage }).pipe(
          switchMap((list) => {
            const confirmed = end(list);
            return pagedSource((page) => list.page(page).pipe(map(({ content }) => content)), {
              window: windowOf(this.options),
              concurrency: this.options.concurrency,
              firstPage: this.list.firstPage,
              confirmEnd: (claim) => confirmed.confirm(claim),
            });
          }),
        );
        const missed$ = pages$.pipe(
          map((page) => {
            const content = contentOf(page);
            const names = namesOf(content, this.#key);
            trace.take(page.number, content, names);
            const sighting = seen.take(content, names, (before) => {
              if (before <= whole.since) whole.keys += 1;
            });
            repeats += sighting.repeats.length;
            consistency.changed += sighting.changed;
            gaps.take(content.length, sighting.fresh);
            if (sighting.fresh.length === 0) {
              page.lease.release();
              return undefined;
            }
            consistency.repaired += sighting.fresh.length;
            this.#lastNumber += 1;
            return pageOf(this.#lastNumber, pickFrom(content, sighting.fresh), page.lease);
          }),
          filter((page) => page !== undefined),
        );
        const next$ = task(async (ask) => {
          consistency.passes = number;
          const moved = seen.moved();
          consistency.unordered ||= moved > maxMoved;
          if (consistency.unordered) return this.#isWhole(ask, whole);
          clean.passes = gaps.found ? 0 : clean.passes + 1;
          const same = number === 1 && consistency.repaired === 0 && repeats === this.#repeated && trace.rows === this.#trace.rows;
          if (clean.passes < clean.wanted) return false;
          if (consistency.mode === 'prove') consistency.outcome = 'proven';
          // What came again comes again: the list holds it twice.
          else consistency.outcome = same && !this.#drifted ? 'stable' : 'repaired';
          return true;
        }).pipe(
          switchMap((done) => {
            if (done) return EMPTY;
            const most = this.options.maxPasses ?? (consistency.unordered ? 30 : 8);
            if (number < most && !(consistency.unordered && whole.rows === undefined)) return pass$(number + 1);
            consistency.outcome = 'unstable';
            return EMPTY;
          }),
        );
        return concat(missed$, next$);
      });
    return pass$(1);
  }

  /** Whether as many different keys of an unordered list were seen as it has rows, since their number last changed. */
  async #isWhole(ask: Ask, whole: { rows: number | undefined; since: number; keys: number }): Promise<boolean> {
    const rows = await ask(this.#end.count(whole.rows ?? this.#trace.rows));
    const same = rows !== undefined && rows === whole.rows;
    if (same && whole.keys >= rows) {
      this.consistency.outcome = this.consistency.mode === 'prove' ? 'proven' : 'repaired';
      return true;
    }
    if (!same) {
      whole.rows = rows;
      whole.since = this.#seen?.place ?? 0;
      whole.keys = 0;
    }
    return false;
  }

  /** Once everything else is done: rows behind the end are read on. */
  #lookAgain(): Observable<Page<T>> {
    return task(async (ask) => {
      await this.#drain.empty();
      return ask(this.#end.lookAgain());
    }).pipe(
      switchMap((next) => {
        this.consistency.growing = this.#end.growing;
        return next === undefined ? EMPTY : concat(this.#crawl(next), this.#lookAgain());
      }),
    );
  }

  /** Whether a list in one answer has rows by now that it had not. */
  #hasChanged(): Observable<boolean> {
    return this.list
      .probe(1)
      .pipe(map(({ content }) => namesOf(content, this.#key).some((name) => this.#seen && !this.#seen.inThisPass(name))));
  }

  /** A list in one answer is one moment; it is asked for again, since that moment may have been a bad one. */
  #compareAnswer(): Observable<Page<T>> {
    const seen = this.#seen;
    if (!seen) return EMPTY;
    const { consistency } = this;
    return task(async (ask) => {
      consistency.outcome = 'stable';
      consistency.counted = 'pages';
      if (this.options.lookAgain) await this.#drain.empty();
      const { content } = await ask(this.list.probe(1));
      consistency.probes += 1;
      const names = namesOf(content, this.#key);
      if (contentDigest(names) === this.#looks.get(1)) return undefined;
      consistency.drift.push('the list has changed');
      consistency.outcome = 'drifted';
      const { fresh } = seen.take(content, names);
      if (consistency.mode === 'check') return undefined;
      consistency.outcome = consistency.mode === 'prove' ? 'proven' : 'repaired';
      consistency.repaired = fresh.length;
      return fresh.length === 0 ? undefined : pageOf(2, pickFrom(content, fresh), { release: () => {} });
    }).pipe(switchMap((page) => (page === undefined ? EMPTY : of(page))));
  }
}

const defaultEndWaitMs = 5_000;

/** Share of the keys in common that may be out of sequence between two passes over a list that has an order. */
const maxMoved = 0.01;

/** New rows at the head or the tail of a list were added to it; one between two known ones was missed. */
class Gaps {
  found = false;
  #known = false;
  #pending = false;

  take(rows: number, missed: readonly number[]): void {
    const isMissed = new Set(missed);
    for (let row = 0; row < rows; row += 1) {
      if (isMissed.has(row)) this.#pending ||= this.#known;
      else {
        this.found ||= this.#pending;
        this.#known = true;
      }
    }
  }
}

/** At most so many of the items, first and last among them, evenly spaced. */
function evenly<I>(items: readonly I[], most: number): readonly I[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter((item) => item !== undefined);
}
