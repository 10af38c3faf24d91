import { Observable, Subject, map, takeWhile, tap, type OperatorFunction, type Subscriber, type Subscription } from 'rxjs';
import { LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import { rowsOf, type Page, type Step } from './page.js';
import { MadeRows, type MadeOptions, type MadePage } from './made-rows.js';
import { ofEachRow, refusedPromise, refusedRow } from './row-function.js';
import { stalled, whenDry } from './stalled.js';
import { withNode } from './chain.js';

/**
 * Applies a function to every row, which is its only argument. Rows of leadstream are frozen: return a new one, like `{ ...row, … }`. Rows
 * that it creates stay its own. With `columns`, their values are taken when they are returned. Without, a later change to one reaches
 * consumers that have not read it yet.
 *
 * @param options The columns of the new rows, for `writeTo` and the steps after it.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid columns. `E_STEP_FUNCTION`, by the stream, if the function throws (the
 * `cause` is what it threw), returns a promise, or returns a row that differs from the columns.
 *
 * @example
 * service.leads.pipe(mapRows(({ lead_id, zipcode }) => ({ id: lead_id, prefix: zipcode?.slice(0, 3) ?? null })));
 * // { lead_id: '7', zipcode: '10001', … }  ->  { id: '7', prefix: '100' }
 * const ages = service.users.pipe(mapRows(({ uid }) => ({ uid, length: uid?.length }), { columns: { uid: 'text', length: 'decimal' } }));
 * await writeTo(ages, csv({ path: 'lengths.csv' })); // without columns it asks for them
 */
export function mapRows<T, U>(project: (row: T) => U, options: MadeOptions<NoInfer<U>> = {}): Step<T, U> {
  const rows = new MadeRows<U>('mapRows', options);
  const mapping: Step<T, U> = map((page) => {
    const made = rows.begin();
    ofEachRow(page, { at: 'mapRows', of: project, refused: (row) => refusedPromise(row) ?? made.take(row) });
    return made.done(page);
  });
  return withNode(mapping, rows.node);
}

/**
 * Lifts a row operator (`map`, `scan`, `distinct`, `take`, or a `pipe` of such) over pages. One subscription spans the whole stream, so a
 * stateful operator keeps its state from page to page. When the operator completes, so does the stream, after the page it received last,
 * and the source is unsubscribed.
 *
 * Rows belong to the page during which they are emitted. Those emitted later go out with the next page, and those emitted after the last
 * page in one more page, numbered after it, for which the stream waits. They are not bounded by the window.
 *
 * @param options The columns of the rows it emits, as in `mapRows`.
 * @throws {StepError} As in `mapRows`; a failure between pages, for example after a promise, names the page before.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the stream, for an operator that never completes, once the process has nothing else left to do.
 *
 * @example
 * service.leads.pipe(liftRows((lead$) => lead$.pipe(distinct(({ zipcode }) => zipcode), take(100)))); // a lead of each of 100 zip codes
 */
export function liftRows<T, U>(operator: OperatorFunction<T, U>, options: MadeOptions<NoInfer<U>> = {}): Step<T, U> {
  const rows = new MadeRows<U>('liftRows', options);
  const lifting: Step<T, U> = (pages$) =>
    new Observable((subscriber) => {
      const lifted = new LiftedRows(operator, rows, subscriber);
      if (lifted.closed) return;
      subscriber.add(
        pages$
          .pipe(
            map((page) => lifted.lift(page)),
            takeWhile(() => !lifted.closed, true),
          )
          .subscribe({
            next: (page) => subscriber.next(page),
            error: (error: unknown) => subscriber.error(error),
            complete: () => lifted.complete(),
          }),
      );
    });
  return withNode(lifting, rows.node);
}

/** A running row operator, with one subscription for all pages. */
class LiftedRows<T, U> {
  readonly #rows$ = new Subject<T>();
  readonly #lifted: Subscription;
  #out: MadePage<U>;
  #last = 0;
  /** The row being passed to the operator; `undefined` between pages. */
  #given: { readonly index: number; readonly row: T } | undefined;

  constructor(
    operator: OperatorFunction<T, U>,
    private readonly made: MadeRows<U>,
    private readonly subscriber: Subscriber<Page<U>>,
  ) {
    this.#out = made.begin();
    this.#lifted = this.#applied(operator)
      .pipe(tap((row) => this.#take(row)))
      .subscribe({
        error: (error: unknown) => subscriber.error(this.#failure(error)),
        complete: () => {
          if (!this.#given) this.#finish();
        },
      });
    subscriber.add(this.#lifted);
  }

  /** Whether the operator has completed. */
  get closed(): boolean {
    return this.#lifted.closed;
  }

  lift(page: Page<T>): Page<U> {
    this.#last = page.number;
    for (const [index, row] of rowsOf(page).entries()) {
      if (this.closed) break;
      this.#given = { index, row };
      this.#rows$.next(row);
    }
    this.#given = undefined;
    return this.#taken().done(page);
  }

  /** Ends after the last page: emits what the operator still emits, then completes the stream. */
  complete(): void {
    if (this.closed) return this.#finish();
    this.#rows$.complete();
    if (!this.closed) this.subscriber.add(whenDry('calls', () => this.#refuseEndless()));
  }

  #applied(operator: OperatorFunction<T, U>): Observable<U> {
    try {
      return this.#rows$.pipe(operator);
    } catch (thrown) {
      throw this.#failure(thrown);
    }
  }

  #finish(): void {
    if (this.#out.length > 0) {
      const after = { number: this.#last + 1, rows: [], lease: { release: () => {} } };
      this.subscriber.next(this.#taken().done(after));
    }
    this.subscriber.complete();
  }

  #refuseEndless(): boolean {
    this.subscriber.error(stalled('liftRows: the operator has received all rows and never completes'));
    return true;
  }

  #take(row: U): void {
    const wrong = this.#out.take(row);
    if (wrong) throw this.#refused(wrong.what, wrong);
  }

  #taken(): MadePage<U> {
    const taken = this.#out;
    this.#out = this.made.begin();
    return taken;
  }

  #failure(thrown: unknown): unknown {
    return thrown instanceof LeadstreamError ? thrown : this.#refused(`threw ${whatWasThrown(thrown)}`, { cause: thrown });
  }

  #refused(what: string, more: { readonly remedy?: string; readonly cause?: unknown }): StepError {
    const at = 'liftRows';
    if (this.#given) return refusedRow({ who: at, at, page: this.#last, ...this.#given }, what, more);
    const where = this.#last === 0 ? 'before the first page' : `after page ${this.#last}`;
    const remedy = more.remedy === undefined ? '' : `; ${more.remedy}`;
    return new StepError('E_STEP_FUNCTION', `${at}: the operator ${what} ${where}${remedy}`, { cause: more.cause });
  }
}

/**
 * Emits the rows of every page one by one and releases the page after its last row. A row counts as done when `next` returns: work that a
 * subscriber starts without waiting is no longer bounded by the window.
 */
export function rows<T>(): OperatorFunction<Page<T>, T> {
  return (pages$) =>
    new Observable((subscriber) =>
      pages$.subscribe({
        next: (page) => {
          for (const row of rowsOf(page)) {
            if (subscriber.closed) return;
            subscriber.next(row);
          }
          page.lease.release();
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    );
}
