import type { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { defer, isObservable, tap, type Observable } from 'rxjs';
import { type Column, type Consistency, type Row, StepError } from '../core/index.js';
import { checkGiven, given, numberOrInfinity, object, oneOf } from '../options/index.js';
import { PageCache, type CacheOptions } from './cache.js';
import { iterate, toReadable, toWeb, type RowFormat } from './iterate.js';
import { rows } from './lift.js';
import { isPage, type Page, type Step } from './page.js';
import { namingRows, type KnownRows } from './row-function.js';
import { factsOf, type ColumnsContext } from './step-facts.js';

/** What rows are read for: what is written has to be complete. */
export type Purpose = 'reading' | 'writing';

/** Where the rows of a stream come from. */
export interface RowSource {
  /** The columns that the rows are declared to have; `undefined` when nobody knows. */
  readonly columns: readonly Column[] | undefined;
  /** Columns that are secret and not revealed, for messages. */
  readonly withheld: readonly string[];
  /** Columns that identify a row; none when nobody knows. */
  readonly key: readonly string[];
  /** Begins a read; nothing is asked for before its pages are subscribed. */
  open(purpose: Purpose): OpenedSource;
}

/** One read of a source. */
export interface OpenedSource {
  readonly pages$: Observable<Page>;
  /** The columns that rows had so far and nobody declared. */
  undeclared(): readonly Column[];
  /** What was found out of the list; complete when the pages have ended. `undefined` where nothing is checked. */
  readonly consistency: Consistency | undefined;
}

/** One read of a stream. */
export interface OpenedStream<T> {
  readonly pages$: Observable<Page<T>>;
  /** The columns of the rows, with those that nobody declared and came so far; `undefined` when nobody knows. */
  columns(): readonly Column[] | undefined;
  readonly consistency: Consistency | undefined;
}

/** The steps of a stream, one behind the other; what goes from one to the next, their types have said. */
type Steps = readonly Step[];

/** Steps, and the columns behind them. */
interface Stepped {
  readonly steps: Steps;
  readonly columns: readonly Column[] | undefined;
}

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
 * @throws The error of the read, behind the rows before it, wherever the rows are taken.
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
   * What the rows have after the steps so far, with declared types and sensitivity; `undefined` behind an operator that is not of leadstream,
   * since only it knows. Fields that the service has and nobody declared are in the rows (but for secret ones) and not here, because only
   * the read shows them; `writeTo` writes those of the first page, too.
   */
  readonly columns: readonly Column[] | undefined;
  /** @internal Columns that are secret and not revealed, for messages. */
  readonly withheld: readonly string[];
  readonly #source: RowSource;
  readonly #steps: Steps;
  #consistency: Consistency | undefined;

  /** @internal */
  static opened: <T>(stream: RowStream<T>, purpose: Purpose) => OpenedStream<T> = (stream, purpose) => stream.#open(purpose);

  /** @internal */
  constructor(source: RowSource, { steps, columns }: Stepped = { steps: [], columns: source.columns }) {
    this.#source = source;
    this.#steps = steps;
    this.withheld = source.withheld;
    this.columns = columns;
    this.pages$ = defer(() => this.#open('reading').pages$);
    this.rows$ = this.pages$.pipe(rows());
  }

  /**
   * What was found out of the collection by the read of this very stream that ended last; `undefined` before, of a read that was left, and
   * where nothing can be checked.
   */
  get consistency(): Consistency | undefined {
    return this.#consistency;
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
    if (steps.length === 0) return this;
    const all = [...this.#steps, ...steps.map(checkedStep)];
    return new RowStream(this.#source, { steps: all, columns: this.#columnsBehind(all, this.#source.columns, refusing) });
  }

  /**
   * The same rows, read once for all who take them at the same time or soon after each other, like the side of a join that every request of a
   * server needs. Its pages stay in memory, all of them, so that no subscriber waits for a slower one. A collection is read as for `writeTo`,
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
    const cache = new PageCache(() => this.#open('writing'), options.maxAgeMs);
    const declared = new Set(this.columns?.map(({ name }) => name));
    const opened: OpenedSource = {
      // Of what type the rows are, the stream says again.
      pages$: cache.pages$ as Observable<unknown> as Observable<Page>,
      undeclared: () => cache.last?.columns()?.filter(({ name }) => !declared.has(name)) ?? [],
      get consistency() {
        return cache.last?.consistency;
      },
    };
    return new RowStream<T>({ columns: this.columns, withheld: this.withheld, key: this.#source.key, open: () => opened });
  }

  /** Follows columns through steps. */
  #columnsBehind(steps: Steps, from: readonly Column[] | undefined, problemAt: (at: string) => ColumnsContext['problem']) {
    const { withheld } = this.#source;
    const gone = new Map<string, string>();
    let columns = from;
    for (const step of steps) {
      const facts = factsOf(step);
      if (columns === undefined || facts === undefined) return undefined;
      const left = facts.columns(columns, { gone, withheld, problem: problemAt(facts.at) });
      for (const { name } of columns) gone.set(name, facts.at);
      for (const { name } of left ?? columns) gone.delete(name);
      columns = left;
    }
    return columns;
  }

  #open(purpose: Purpose): OpenedStream<T> {
    const opened = this.#source.open(purpose);
    const pages$ = this.#steps.reduce(
      (each$: Observable<Page>, step, index) => {
        const facts = factsOf(step);
        const naming = namingRows<Row>(facts?.at, () => this.#known(index));
        if (facts === undefined) return each$.pipe(step, tap(checkPage(index)), naming);
        return each$.pipe(purpose === 'writing' && facts.forWriting ? (facts.forWriting() as Step) : step, naming);
      },
      opened.pages$.pipe(namingRows<Row>(undefined, () => undefined)),
    );
    const ended = () => (this.#consistency = opened.consistency);
    // What goes through the steps is of the type that theirs say.
    const made$ = pages$.pipe(tap({ complete: ended, error: ended })) as Observable<unknown> as Observable<Page<T>>;
    return {
      pages$: made$,
      columns: () => this.#columnsWith(opened.undeclared()),
      get consistency() {
        return opened.consistency;
      },
    };
  }

  /** What is known of the rows that arrive at a step. */
  #known(index: number): KnownRows | undefined {
    const { columns, key } = this.#source;
    const arriving = this.#columnsBehind(this.#steps.slice(0, index), columns, () => () => {});
    return arriving && { key, columns: arriving };
  }

  /** The columns of the rows when these came to the source beside those that are declared: their names are not taken by any step. */
  #columnsWith(undeclared: readonly Column[]): readonly Column[] | undefined {
    const { columns } = this.#source;
    if (columns === undefined || undeclared.length === 0) return this.columns;
    const behind = this.#columnsBehind(this.#steps, [...columns, ...undeclared], () => () => {});
    return behind && [...new Map(behind.map((column) => [column.name, column])).values()];
  }
}

/**
 * Makes a row stream of pages that something else gives, as of `pagedSource`.
 *
 * @param columns What the rows have. Default: nobody knows, and `writeTo` wants to be told.
 * @throws {StepError} `E_STEP_CONFIG` for what is no observable.
 *
 * @example
 * for await (const order of fromPages(pagedSource(fetchOrders))) console.log(order.no);
 */
export function fromPages<T>(pages$: Observable<Page<T>>, columns?: readonly Column[]): RowStream<T> {
  if (!isObservable(pages$)) throw new StepError('E_STEP_CONFIG', `fromPages: must be given an observable of pages, not ${given(pages$)}`);
  const open = (): OpenedSource => ({
    // Of what type the rows are, the stream says again.
    pages$: (pages$ as Observable<unknown> as Observable<Page>).pipe(tap(checkPage(undefined))),
    undeclared: () => [],
    consistency: undefined,
  });
  return new RowStream<T>({ columns, withheld: [], key: [], open });
}

/** Rows for a step that takes a side: a stream of rows, or an observable of pages. */
export type Side<T> = RowStream<T> | Observable<Page<T>>;

/** The pages of a side, read for what its rows are wanted for. */
export function pagesOf<T>(side: Side<T>, purpose: Purpose): Observable<Page<T>> {
  return side instanceof RowStream ? defer(() => RowStream.opened(side, purpose).pages$) : side;
}

function checkedStep(step: unknown, index: number): Step {
  if (typeof step === 'function') return step as Step;
  throw new StepError('E_STEP_CONFIG', `pipe: argument ${index + 1} must be a step, like filter((row) => …), not ${given(step)}`);
}

function refusing(at: string): ColumnsContext['problem'] {
  return (_path, message) => {
    throw new StepError('E_STEP_CONFIG', `${at}: ${message}`);
  };
}

function checkPage(index: number | undefined): (page: Page) => void {
  const who = index === undefined ? 'fromPages: the observable' : `pipe: operator ${index + 1}`;
  return (page: unknown) => {
    if (isPage(page)) return;
    throw new StepError('E_STEP_CONFIG', `${who} gives ${given(page)} that is no page; operators for rows go behind .rows$`);
  };
}
