import type { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { defer, tap, type Observable } from 'rxjs';
import type { Column, Consistency } from '../core/index.js';
import { checkGiven, numberOrInfinity, object, oneOf } from '../options/index.js';
import { PageCache, type CacheOptions } from './cache.js';
import { iterate, toReadable, toWeb, type RowFormat } from './iterate.js';
import { rows } from './lift.js';
import type { Page } from './page.js';
import { OpenReading } from './reading.js';
import type { CountedStep, OpenedSource, OpenedStream, ReadFor, RowSource } from './row-source.js';
import { StepChain } from './step-chain.js';

type Operator<In, Out> = (pages$: Observable<Page<In>>) => Observable<Page<Out>>;

const age = object({ options: object({ maxAgeMs: numberOrInfinity({ above: 0 }) }, ['maxAgeMs']) }, ['options']);

const taken = object({ format: oneOf(['objects', 'ndjson']) });

/**
 * Rows that can be read: all of a collection, or what steps made of them. It is cold and never changes: each loop, subscription or stream
 * reads from the first row on, and `pipe` gives another one.
 *
 * A loop and the streams of Node and of the web read at their own pace: at most `window` pages are in memory, however slow they are. Leaving
 * the loop, destroying or cancelling the stream aborts the requests in flight.
 *
 * @throws The error of the read, behind the rows before it, wherever the rows are taken. `E_RUN_STALLED` when it can never end, as of an
 * operator that never completes, once the process has nothing else left to do: a program does not end with a part of the rows and without a word.
 *
 * @example
 * for await (const lead of service.leads.pipe(filter((lead) => lead.lead_status === 'sold'))) await store(lead);
 */
export class RowStream<T> implements AsyncIterable<T> {
  /**
   * The pages, for operators that are made for pages. A page is released when `next` returns, unless `mapAsync`, `deliver`, `writeTo`, a loop
   * or a step took it in that call: these slow the source down to their own pace. An operator that queues what it gets (`concatMap`, `delay`,
   * `observeOn`, `bufferCount`, …) works and completes, but what waits in its queue is no longer bounded by `window`. `retry` and `repeat`
   * read again from the first page.
   */
  readonly pages$: Observable<Page<T>>;
  /**
   * The rows, pushed: whoever subscribes gets them as fast as the service gives them, so work that a subscriber starts and does not wait for
   * is not bounded. For work that takes time there is `for await`, or `pages$` with `mapAsync` or `deliver`. `retry` and `repeat` read
   * again from the first row.
   */
  readonly rows$: Observable<T>;
  /**
   * What the rows have after the steps so far, with declared types and sensitivity; `undefined` behind an operator that is not of leadstream, or a function whose columns were not named,
   * since only it knows, up to a function whose columns are. Fields that the service has and nobody declared are in the rows (but for secret ones) and not here, because only
   * the read shows them; `writeTo` writes those of the first page, too.
   */
  readonly columns: readonly Column[] | undefined;
  /** @internal Columns that are secret and not revealed, for messages. */
  readonly withheld: readonly string[];
  readonly #source: RowSource;
  readonly #chain: StepChain;
  #consistency: Consistency | undefined;
  #steps: readonly CountedStep[] | undefined;

  /** @internal */
  static opened: <T>(stream: RowStream<T>, wanted: ReadFor) => OpenedStream<T> = (stream, wanted) => stream.#open(wanted);

  /** @internal */
  constructor(source: RowSource, chain = new StepChain(source)) {
    this.#source = source;
    this.#chain = chain;
    this.withheld = source.withheld;
    this.columns = chain.columns;
    this.pages$ = defer(() => this.#open({ purpose: 'reading' }).pages$);
    this.rows$ = this.pages$.pipe(rows());
  }

  /**
   * What was found out of the collection by the read of this very stream that ended last; `undefined` before, of a read that was left, and
   * where nothing can be checked.
   */
  get consistency(): Consistency | undefined {
    return this.#consistency;
  }

  /**
   * What the steps did with the rows, by the read of this very stream that ended last: how many a `filter` removed, how many found a match in
   * a `join`, and so on; `undefined` before, and of a read that was left. A step that was given a context counts there, and one behind
   * `pages$` nowhere.
   */
  get steps(): readonly CountedStep[] | undefined {
    return this.#steps;
  }

  /** The rows one by one, at the pace of the loop. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return iterate(this.pages$);
  }

  /**
   * The rows as a stream of Node.
   *
   * @param format `objects` for one in object mode (default), `ndjson` for bytes, a line of JSON for each row.
   * @throws {StepError} `E_STEP_CONFIG` for another format.
   *
   * @example
   * import { pipeline } from 'node:stream/promises';
   *
   * await pipeline(service.leads.toReadable('ndjson'), response); // a client that leaves ends the requests
   */
  toReadable(format: RowFormat = 'objects'): Readable {
    checkGiven('toReadable', taken, { format });
    return toReadable(this.pages$, format);
  }

  /**
   * The rows as a stream of the web. It reads nothing before it is asked to.
   *
   * @param format `objects` for chunks that are rows (default), `ndjson` for bytes, a line of JSON for each row.
   * @throws {StepError} `E_STEP_CONFIG` for another format.
   *
   * @example
   * return new Response(service.leads.toWeb('ndjson'), { headers: { 'content-type': 'application/x-ndjson' } });
   */
  toWeb(format: 'ndjson'): ReadableStream<Uint8Array>;
  toWeb(format?: 'objects'): ReadableStream<T>;
  toWeb(format: RowFormat = 'objects'): ReadableStream<unknown> {
    checkGiven('toWeb', taken, { format });
    return toWeb(this.pages$, format);
  }

  /**
   * What steps make of the rows: `filter`, `select`, `join`, `derive`, …, and any operator that takes pages and gives pages.
   *
   * @throws {StepError} `E_STEP_CONFIG`, at once, for what is no step, and for a step that names fields which the rows do not have, as far as
   * columns are known.
   *
   * @example
   * service.leads.pipe(
   *   select(['lead_id', 'bridge_id']),
   *   join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
   * ); // { lead_id: '7', bridge_id: '4', bridge_title: 'Auto' }, …
   */
  pipe(): this;
  pipe<A>(a: Operator<T, A>): RowStream<A>;
  pipe<A, B>(a: Operator<T, A>, b: Operator<A, B>): RowStream<B>;
  pipe<A, B, C>(a: Operator<T, A>, b: Operator<A, B>, c: Operator<B, C>): RowStream<C>;
  pipe<A, B, C, D>(a: Operator<T, A>, b: Operator<A, B>, c: Operator<B, C>, d: Operator<C, D>): RowStream<D>;
  pipe<A, B, C, D, E>(a: Operator<T, A>, b: Operator<A, B>, c: Operator<B, C>, d: Operator<C, D>, e: Operator<D, E>): RowStream<E>;
  pipe<A, B, C, D, E, F>(
    a: Operator<T, A>,
    b: Operator<A, B>,
    c: Operator<B, C>,
    d: Operator<C, D>,
    e: Operator<D, E>,
    f: Operator<E, F>,
  ): RowStream<F>;
  pipe<A, B, C, D, E, F, G>(
    a: Operator<T, A>,
    b: Operator<A, B>,
    c: Operator<B, C>,
    d: Operator<C, D>,
    e: Operator<D, E>,
    f: Operator<E, F>,
    g: Operator<F, G>,
  ): RowStream<G>;
  pipe<A, B, C, D, E, F, G, H>(
    a: Operator<T, A>,
    b: Operator<A, B>,
    c: Operator<B, C>,
    d: Operator<C, D>,
    e: Operator<D, E>,
    f: Operator<E, F>,
    g: Operator<F, G>,
    h: Operator<G, H>,
  ): RowStream<H>;
  pipe(...steps: readonly unknown[]): unknown {
    return steps.length === 0 ? this : new RowStream(this.#source, this.#chain.followedBy(steps));
  }

  /**
   * The same rows, read once for all who take them at the same time or soon after each other, like the side of a join that every request of a
   * server needs. Its pages stay in memory, all of them, so that no subscriber waits for a slower one. No reader sees what another does with the rows:
   * they are frozen, those that a function made are frozen copies with their lists and plain objects (instances of classes are shared), and dates are
   * each reader's own. A collection is read as for `writeTo`,
   * since anybody may write what comes of it. An error is told to all who wait for it, and not kept: the next one reads again. When the last
   * subscriber leaves before the end, the read is ended, too.
   *
   * @throws {StepError} `E_STEP_CONFIG` for what is no time.
   *
   * @example
   * const bridges = service.bridges.with({ fields: ['id', 'title'] }).cached({ maxAgeMs: 600_000 });
   * service.leads.pipe(join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
   */
  cached(options: CacheOptions): RowStream<T> {
    checkGiven('cached', age, { options });
    let last: OpenedStream<T> | undefined;
    const cache = new PageCache(() => (last = this.#open({ purpose: 'writing' })), options.maxAgeMs);
    const declared = new Set(this.columns?.map(({ name }) => name));
    const opened: OpenedSource = {
      // Of what type the rows are, the stream says again.
      pages$: cache.pages$ as Observable<unknown> as Observable<Page>,
      undeclared: () => cache.last?.columns()?.filter(({ name }) => !declared.has(name)) ?? [],
      get consistency() {
        return cache.last?.consistency;
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
    const reading = new OpenReading(wanted, this.#source);
    const pages$ = this.#chain.through(opened.pages$, reading);
    const ended = () => {
      this.#consistency = opened.consistency;
      this.#steps = reading.steps;
    };
    // What goes through the steps is of the type that theirs say.
    const made$ = pages$.pipe(tap({ complete: ended, error: ended })) as Observable<unknown> as Observable<Page<T>>;
    return {
      pages$: made$,
      key: this.#source.key,
      columns: () => this.#chain.columnsWith(opened.undeclared()),
      get consistency() {
        return opened.consistency;
      },
      steps: reading.steps,
      get partial() {
        return reading.isPartial || opened.partial === true;
      },
    };
  }
}
