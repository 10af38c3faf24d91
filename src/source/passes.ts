import { EMPTY, concat, defer, filter, map, switchMap, type Observable } from 'rxjs';
import type { CollectionReader } from '../client/index.js';
import type { Row } from '../collections/index.js';
import { pickFrom } from '../columnar/index.js';
import { contentOf, pageOf, pagedSource, task, type Ask, type Page } from '../flow/index.js';
import type { Consistency } from './consistency.js';
import type { EndOfList } from './end.js';
import { openList, type PagedList } from './list.js';
import { windowOf, type ReadingOptions } from './options.js';
import { otherLimit, resized } from './other-limit.js';
import { namesOf, type SeenRows } from './seen.js';
import { Trace } from './trace.js';

/** What is known of a list from the first read of it. */
export interface FirstRead<T extends Row> {
  readonly reader: CollectionReader<T>;
  readonly list: PagedList<T>;
  readonly options: ReadingOptions;
  readonly consistency: Consistency;
  readonly seen: SeenRows;
  /** Rows read, and how many of them came again on another page. */
  readonly rows: number;
  readonly repeated: number;
  /** Number of the last page. */
  readonly lastNumber: number;
  readonly drifted: boolean;
  /** How the end of a pass is made sure of. */
  readonly endOf: (list: PagedList<T>, trace: Trace) => EndOfList<T>;
  /** How many rows the list has by now, near a guess; `undefined` where it cannot be counted. */
  readonly count: (guess: number) => Observable<number | undefined>;
}

/** What one pass over a list met. */
class Pass {
  readonly trace = new Trace();
  readonly gaps = new Gaps();
  repeats = 0;
}

/** Further passes over a list, which let the rows pass that were missed so far, until one has missed nothing. */
export class Passes<T extends Row> {
  /** Passes in succession that missed nothing. */
  #clean = 0;
  #lastNumber: number;
  /** Of an unordered list: its rows, the place since which as many different keys have to be seen, and how many were. */
  readonly #whole = { rows: undefined as number | undefined, since: 0, keys: 0 };

  constructor(private readonly first: FirstRead<T>) {
    this.#lastNumber = first.lastNumber;
  }

  /** The rows that the passes find, on pages that go on behind the last one. */
  pages(): Observable<Page<T>> {
    return this.#from(1);
  }

  #from(number: number): Observable<Page<T>> {
    return defer(() => {
      this.first.seen.beginPass();
      const pass = new Pass();
      const missed$ = this.#listed(number, pass.trace).pipe(
        map((page) => this.#missedOn(page, pass)),
        filter((page) => page !== undefined),
      );
      const next$ = task((ask) => this.#judge(ask, number, pass)).pipe(switchMap((goOn) => (goOn ? this.#from(number + 1) : EMPTY)));
      return concat(missed$, next$);
    });
  }

  /** The pages of one pass, by a limit of its own. */
  #listed(number: number, trace: Trace): Observable<Page<T>> {
    const { reader, list, options, endOf } = this.first;
    const { firstPage } = list;
    return openList(resized(reader, otherLimit(list.limit, number)), { firstPage }).pipe(
      switchMap((resizedList) => {
        const end = endOf(resizedList, trace);
        return pagedSource((page) => resizedList.page(page).pipe(map(({ content }) => content)), {
          window: windowOf(options),
          concurrency: options.concurrency,
          firstPage,
          confirmEnd: (claim) => end.confirm(claim),
        });
      }),
    );
  }

  /** The rows of a page that were not known, if there are any. */
  #missedOn(page: Page<T>, pass: Pass): Page<T> | undefined {
    const { reader, seen, consistency } = this.first;
    const content = contentOf(page);
    const names = namesOf(content, reader.collection.key);
    pass.trace.take(page.number, content, names);
    const sighting = seen.take(content, names, (before) => {
      if (before <= this.#whole.since) this.#whole.keys += 1;
    });
    pass.repeats += sighting.repeats.length;
    pass.gaps.take(content.length, sighting.fresh);
    consistency.changed += sighting.changed;
    if (sighting.fresh.length === 0) {
      page.lease.release();
      return undefined;
    }
    consistency.repaired += sighting.fresh.length;
    this.#lastNumber += 1;
    return pageOf(this.#lastNumber, pickFrom(content, sighting.fresh), page.lease);
  }

  /** Sets the outcome when the passes are done. @returns Whether another one is needed. */
  async #judge(ask: Ask, number: number, pass: Pass): Promise<boolean> {
    const { consistency, options, seen } = this.first;
    consistency.passes = number;
    consistency.unordered ||= seen.moved() > maxMoved;
    if (consistency.unordered ? await this.#isWhole(ask) : this.#isClean(number, pass)) return false;
    const most = options.maxPasses ?? (consistency.unordered ? 30 : 8);
    const countable = !consistency.unordered || this.#whole.rows !== undefined;
    if (number < most && countable) return true;
    consistency.outcome = 'unstable';
    return false;
  }

  /** Whether as many passes in succession as the mode asks for have missed nothing. */
  #isClean(number: number, pass: Pass): boolean {
    const { consistency, drifted, repeated, rows } = this.first;
    const proving = consistency.mode === 'prove';
    this.#clean = pass.gaps.found ? 0 : this.#clean + 1;
    if (this.#clean < (proving ? 2 : 1)) return false;
    // What came again comes again: the list holds it twice.
    const same = number === 1 && consistency.repaired === 0 && pass.repeats === repeated && pass.trace.rows === rows;
    consistency.outcome = proving ? 'proven' : same && !drifted ? 'stable' : 'repaired';
    return true;
  }

  /** Whether as many different keys of an unordered list were seen as it has rows, since their number last changed. */
  async #isWhole(ask: Ask): Promise<boolean> {
    const { consistency, count, seen } = this.first;
    const whole = this.#whole;
    const rows = await ask(count(whole.rows ?? this.first.rows));
    if (rows !== whole.rows) {
      Object.assign(whole, { rows, since: seen.place, keys: 0 });
      return false;
    }
    if (rows === undefined || whole.keys < rows) return false;
    consistency.outcome = consistency.mode === 'prove' ? 'proven' : 'repaired';
    return true;
  }
}

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
