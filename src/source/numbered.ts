import { catchError, defer, map, of, switchMap, throwError, type Observable } from 'rxjs';
import { itemAt } from '../core/index.js';
import { type Ask, type ListEnd, type Page, task } from '../flow/index.js';
import { defaults } from '../options/index.js';
import { digestOf, type RecordBatch } from '../vector/index.js';
import { EndOfList, Positions } from './end.js';
import { openPaged, type Pages } from './list.js';
import { windowOf } from './options.js';
import { isViolation, type ListReader, noNewRows, refused } from './paging.js';
import { slackOf, type List, type ListPass } from './passes.js';
import { evenly, maxProbes, type Reading, type ReadProgress, type Taken } from './seen-rows.js';

/** A list whose pages have numbers: several are requested at a time, and its rows have positions. */
export class NumberedList implements List {
  readonly numbered = true;
  readonly blind = false;
  readonly firstPage: number;
  readonly concurrency: number;
  readonly #positions: Positions;
  readonly #end: EndOfList;
  /** Some of the repeated rows, with their positions and that of their first occurrence; at most `maxProbes` per page. */
  readonly #repeats: { readonly name: string; readonly position: number; readonly first: number }[] = [];
  /** Number of consecutive pages without new rows, and of those after which it is checked whether the list has an end at all. */
  #stale = 0;
  #patience: number;
  readonly confirm = (end: ListEnd) => this.#end.confirm(end);
  readonly lookAgain = () => this.#end.lookAgain();
  readonly again = (page: number) => this.list.probe(page);
  readonly count = (guess: number) => this.#positions.count(guess);

  constructor(
    readonly reading: Reading,
    private readonly list: Pages,
  ) {
    const { options, progress } = reading;
    this.firstPage = list.firstPage;
    this.concurrency = options.concurrency ?? defaults.concurrency;
    this.#patience = Math.max(10, windowOf(options));
    this.#positions = new Positions(list, reading);
    this.#end = new EndOfList(list, progress, this.#positions, reading);
  }

  get counting() {
    return this.#end.counting;
  }

  get growing(): boolean {
    return this.#end.growing;
  }

  get unsettled(): boolean {
    return this.reading.options.lookAgain ?? false;
  }

  page(number: number): Observable<RecordBatch> {
    return defer(() => this.#lookBehind(number)).pipe(
      switchMap(() => {
        // A page already read must be requested again if the list continues in it.
        const fresh = number <= (this.reading.progress.last?.number ?? -Infinity);
        return this.list.page(number, fresh);
      }),
    );
  }

  take({ number }: Page, { names, position, repeats, isStale }: Taken): void {
    if (isStale !== undefined) this.#stale = isStale ? this.#stale + 1 : 0;
    if (isStale) this.reading.drift(`page ${number} has no new rows`);
    for (const { row, first } of repeats.slice(0, maxProbes))
      this.#repeats.push({ first, position: position + row, name: itemAt(names, row) });
  }

  async check(ask: Ask): Promise<boolean> {
    const { reading } = this;
    const { consistency, progress, repeated } = reading;
    if (consistency.mode !== 'prove') await this.#checkPages(ask);
    const settled = repeated === 0 || (this.counting === 'rows' && (await this.#checkRepeats(ask)) === repeated);
    // Only a count of the rows detects rows missing from a page.
    if (progress.short !== undefined && this.counting !== 'rows') reading.drift(`page ${progress.short} is shorter than others`);
    consistency.growing = this.growing;
    return settled;
  }

  pass(number: number, progress: ReadProgress): Observable<ListPass> {
    const { reading, firstPage } = this;
    const opened = (limit: number) => openPaged(resized(reading.reader, limit), limit, { firstPage });
    return opened(otherLimit(this.list.limit, number)).pipe(
      // A service may accept only some page sizes.
      catchError((error: unknown) => (isViolation(error) ? opened(this.list.limit) : throwError(() => error))),
      map((list) => {
        const end = new EndOfList(list, progress, this.#positions, reading);
        return {
          maxRows: 3 * reading.progress.rows + 10 * this.list.limit,
          page: (page) => list.page(page),
          confirm: (claim) => end.confirm(claim),
          reachesEnd: async (ask) => {
            if (end.counted !== false || !progress.last) return true;
            const now = await ask(this.count(progress.rows));
            // Some services leave rows out of a page but count them.
            const passed = (progress.last.number - firstPage + 1) * list.limit;
            return now === undefined || now <= passed + slackOf(progress.rows);
          },
        };
      }),
    );
  }

  async #checkPages(ask: Ask): Promise<void> {
    const { digests, consistency } = this.reading;
    const numbers = evenly([...digests.keys()], maxProbes);
    const digest$ = (number: number) => this.list.probe(number).pipe(map((batch) => digestOf(this.reading.namesOf(batch))));
    const now = await Promise.all(numbers.map((number) => ask(digest$(number))));
    consistency.probes += numbers.length;
    numbers.forEach((number, index) => {
      if (now[index] !== digests.get(number)) this.reading.drift(`page ${number} has changed`);
    });
  }

  /** Checks whether some repeated rows are still where they were read. @returns How many were checked. */
  async #checkRepeats(ask: Ask): Promise<number> {
    const asked = evenly(this.#repeats, maxProbes);
    for (const { first, position, name } of asked) {
      for (const place of [first, position]) {
        this.reading.consistency.probes += 1;
        const [now] = await this.#positions.at(ask, place);
        if (now !== name) this.reading.drift(`row ${place + 1} had a repeated key, and is a different row now`);
      }
    }
    return asked.length;
  }

  /** Refuses a list that had too many pages without new rows, and has rows however far ahead it is checked. */
  #lookBehind(number: number): Observable<void> {
    if (this.#stale <= this.#patience) return of(undefined);
    return task(async (ask) => {
      const at = (times: number) => this.firstPage + times * (number - this.firstPage);
      const hasRows = async (page: number) => (await ask(this.list.probe(page))).length > 0;
      if ((await hasRows(at(2))) && (await hasRows(at(4)))) {
        const what = `${noNewRows(this.#stale, number)}, and pages ${at(2)} and ${at(4)} have rows, too`;
        throw refused(this.reading.reader, 'E_SOURCE_ENDLESS', what);
      }
      this.#patience *= 2;
    });
  }
}

function resized(reader: ListReader, limit: number): ListReader {
  return {
    ...reader,
    collection: { ...reader.collection, paged: true },
    limit,
    request: (asked) => reader.request({ limit, ...asked, purpose: 'probe' }),
  };
}

/** Returns the page size of a pass, so that page borders fall elsewhere: primes first, since they share no borders with each other. */
function otherLimit(limit: number, pass: number): number {
  const below = Array.from({ length: limit - 1 }, (_, index) => limit - 1 - index);
  const primes = below.filter(isPrime);
  const candidates = [...primes, ...below.filter((size) => !primes.includes(size))];
  return candidates[(pass - 1) % Math.max(1, candidates.length)] ?? limit;
}

function isPrime(number: number): boolean {
  if (number < 2) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}
