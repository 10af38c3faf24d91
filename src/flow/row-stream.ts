import type { Readable } from 'node:stream';
import { defer, map, Observable, ReplaySubject, share, tap } from 'rxjs';
import { StepError, type Column, type Consistency } from '../core/index.js';
import { maxTimerMs } from '../options/index.js';
import { ChainRead, chainOf, columnsBehind, type CountedStep, type OpenedSource, type ReadFor, type RowSource } from './chain.js';
import { iterate, toReadable, type RowFormat } from './iterate.js';
import { rows } from './map-rows.js';
import { isBatchPage, pageOf, rowsOf, type Page, type Step } from './page.js';

/** How long cached rows may be used. */
export interface CacheOptions {
  /** Milliseconds from the start of a read after which the next subscriber starts another; may be `Infinity`. */
  readonly maxAgeMs: number;
}

type Operator<In, Out> = (pages$: Observable<Page<In>>) => Observable<Page<Out>>;

export interface OpenedStream<T> extends Pick<RowSource, 'key'> {
  readonly pages$: Observable<Page<T>>;
  /** The columns of the rows, including undeclared ones so far; `undefined` if unknown. */
  columns(): readonly Column[] | undefined;
  readonly consistency: Consistency | undefined;
  readonly steps: readonly CountedStep[];
  /** Whether rows of the source were left unread. */
  readonly partial: boolean;
}

/**
 * A stream of rows: a whole collection, or the result of steps. It is cold and immutable: each loop, subscription or stream reads from the
 * first row, and `pipe` returns a new one. Loops and streams of Node read at the consumer's pace, with at most `window` pages in memory;
 * leaving the loop, or destroying the stream, aborts the requests in flight.
 *
 * @throws The error of the read, after the rows before it. `E_RUN_STALLED` if it can never end, as behind an operator that never completes,
 * once the process has nothing else left to do: a program does not exit silently with only part of the rows.
 *
 * @example
 * for await (const lead of service.leads.pipe(filter((lead) => lead.lead_status === 'sold'))) await store(lead);
 */
export class RowStream<T> implements AsyncIterable<T> {
  /**
   * The pages, for operators on pages. A page is released when `next` returns, unless `mapAsync`, `deliver`, `writeTo`, a loop or a step
   * took it in that call; these slow the source down to their own pace. An operator that queues (`concatMap`, …) works, but its queue is
   * not bounded by `window`. `retry` and `repeat` read again from the first page.
   */
  readonly pages$: Observable<Page<T>>;
  /** The rows, pushed as fast as the service sends them. For work that takes time use `for await`, or `pages$` with `deliver`. */
  readonly rows$: Observable<T>;
  /**
   * The columns of the rows, with declared types and sensitivity. `undefined` after an operator that is not leadstream's, or a function
   * without declared columns. Undeclared fields of the service are in the rows (except secret ones) but not here, because only the read
   * reveals them; `writeTo` also writes those of the first page.
   */
  readonly columns: readonly Column[] | undefined;
  /** @internal Columns that are secret and not revealed, for messages. */
  readonly withheld: readonly string[];
  readonly #source: RowSource;
  readonly #chain: readonly Step[];
  #consistency: Consistency | undefined;
  #steps: readonly CountedStep[] | undefined;

  /** @internal */
  static opened: <T>(stream: RowStream<T>, wanted: ReadFor) => OpenedStream<T> = (stream, wanted) => stream.#open(wanted);

  /** @internal */
  constructor(source: RowSource, chain: readonly Step[] = []) {
    this.#source = source;
    this.#chain = chain;
    this.withheld = source.withheld;
    this.columns = columnsBehind(chain, source, (message) => {
      throw new StepError('E_STEP_CONFIG', message);
    });
    this.pages$ = defer(() => this.#open({ purpose: 'reading' }).pages$);
    this.rows$ = this.pages$.pipe(rows());
  }

  /** What the last completed read of this very stream found out about the collection; `undefined` before, and if nothing can be checked. */
  get consistency(): Consistency | undefined {
    return this.#consistency;
  }

  /**
   * What the steps did with the rows in the last completed read of this very stream, such as how many a `filter` removed; `undefined`
   * before. A step that was given a context counts there, and one applied to `pages$` nowhere.
   */
  get steps(): readonly CountedStep[] | undefined {
    return this.#steps;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return iterate(this.pages$, rowsOf);
  }

  /**
   * Returns the rows as a Node stream.
   *
   * @param format `objects` for one in object mode (default), `ndjson` for bytes, a line of JSON for each row.
   *
   * @example
   * import { pipeline } from 'node:stream/promises';
   *
   * await pipeline(service.leads.toReadable('ndjson'), response); // a client that leaves ends the requests
   */
  toReadable(format: RowFormat = 'objects'): Readable {
    return toReadable(this.pages$, format);
  }

  /**
   * Applies up to twelve steps to the rows: `filter`, `select`, `join`, `derive`, …, and any operator on pages. More follow by another
   * `pipe`.
   *
   * @throws {StepError} `E_STEP_CONFIG`, synchronously, for a step that names fields which the rows do not have, as far as columns are
   * known.
   *
   * @example
   * service.leads.pipe(
   *   select(['lead_id', 'bridge_id']),
   *   join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
   * ); // { lead_id: '7', bridge_id: '4', bridge_title: 'Auto' }, …
   */
  pipe<A = T, B = A, C = B, D = C, E = D, F = E, G = F, H = G, I = H, J = I, K = J, L = K>(
    a?: Operator<T, A>,
    b?: Operator<A, B>,
    c?: Operator<B, C>,
    d?: Operator<C, D>,
    e?: Operator<D, E>,
    f?: Operator<E, F>,
    g?: Operator<F, G>,
    h?: Operator<G, H>,
    i?: Operator<H, I>,
    j?: Operator<I, J>,
    k?: Operator<J, K>,
    l?: Operator<K, L>,
  ): RowStream<L>;
  pipe(...steps: readonly unknown[]): unknown {
    return new RowStream(this.#source, [...this.#chain, ...(steps as readonly Step[])]);
  }

  /**
   * Reads the rows once for all consumers that need them at the same time or soon after each other, such as the side of a join that every
   * request of a server needs. All pages stay in memory. Each reader gets its own rows, with copies of dates, lists and plain objects
   * (instances of classes are shared). A collection is read as for `writeTo`. An error goes to all current subscribers and is not cached.
   * When the last subscriber leaves before the end, the read ends too.
   *
   * @example
   * const bridges = service.bridges.with({ fields: ['id', 'title'] }).cached({ maxAgeMs: 600_000 });
   * service.leads.pipe(join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
   */
  cached(options: CacheOptions): RowStream<T> {
    let last: OpenedStream<T> | undefined;
    const pages$ = cachedPages(() => (last = this.#open({ purpose: 'writing' })).pages$, options);
    const declared = new Set(this.columns?.map(({ name }) => name));
    const opened: OpenedSource = {
      // The row type is restored by the stream's type parameter.
      pages$: pages$ as Observable<unknown> as Observable<Page>,
      undeclared: () => last?.columns()?.filter(({ name }) => !declared.has(name)) ?? [],
      get consistency() {
        return last?.consistency;
      },
      get partial() {
        return last?.partial ?? false;
      },
    };
    const { key, warn } = this.#source;
    return new RowStream<T>({ columns: this.columns, withheld: this.withheld, key, open: () => opened, ...(warn && { warn }) });
  }

  #open(wanted: ReadFor): OpenedStream<T> {
    const opened = this.#source.open(wanted.purpose);
    const read = new ChainRead(wanted, this.#source);
    const pages$ = read.through(opened.pages$, chainOf(this.#chain, this.#source));
    const ended = () => {
      this.#consistency = opened.consistency;
      this.#steps = read.steps;
    };
    // The steps' own types guarantee the row type.
    const made$ = pages$.pipe(tap({ complete: ended, error: ended })) as Observable<unknown> as Observable<Page<T>>;
    return {
      pages$: made$,
      key: this.#source.key,
      columns: () => this.#columnsWith(opened.undeclared()),
      get consistency() {
        return opened.consistency;
      },
      steps: read.steps,
      get partial() {
        return read.isPartial || opened.partial === true;
      },
    };
  }

  /** Returns the columns if the source has these undeclared ones in addition to the declared ones. No step takes their names. */
  #columnsWith(undeclared: readonly Column[]): readonly Column[] | undefined {
    const { columns, withheld } = this.#source;
    if (columns === undefined || undeclared.length === 0) return this.columns;
    const behind = columnsBehind(this.#chain, { columns: [...columns, ...undeclared], withheld });
    return behind && [...new Map(behind.map((column) => [column.name, column])).values()];
  }
}

/** Reads once for all subscribers that need the same rows at the same time or soon after each other; see `RowStream.cached`. */
function cachedPages<T>(open: () => Observable<Page<T>>, { maxAgeMs }: CacheOptions): Observable<Page<T>> {
  let startedAt = 0;
  const read$ = defer(() => {
    startedAt = performance.now();
    return open();
  });
  const resetOnComplete = () => elapsed(startedAt + maxAgeMs - performance.now());
  return read$.pipe(map(ownPage), share({ connector: () => new ReplaySubject<Page<T>>(), resetOnComplete }), map(ownPage));
}

/** Emits after a time, without keeping the process alive. */
function elapsed(ms: number): Observable<void> {
  return new Observable((subscriber) => {
    const timer = ms < maxTimerMs ? setTimeout(() => subscriber.next(), ms).unref() : undefined;
    return () => clearTimeout(timer);
  });
}

/** Returns a page that nobody else can change. It stays in memory regardless of consumers, so it needs no window. */
function ownPage<T>(page: Page<T>): Page<T> {
  const lease = { release: () => {} };
  return isBatchPage(page) ? pageOf(page.number, page.batch, lease) : { number: page.number, rows: page.rows.map(copyOf), lease };
}

/** Copies a value with its dates, lists and plain objects; instances of classes are shared. */
function copyOf<V>(value: V): V;
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return new Date(value);
  if (Array.isArray(value)) return value.map((each: unknown) => copyOf(each));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf<unknown>(each)]));
}
