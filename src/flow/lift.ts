import { isObservable, Observable, Subject, map, takeWhile, type OperatorFunction, type Subscriber, type Subscription } from 'rxjs';
import { LeadstreamError, StepError } from '../core/index.js';
import { callable, checkGiven, given, object } from '../options/index.js';
import { keepRows } from './keep-rows.js';
import { isCopiedRow, type RowGuard } from '../vector/index.js';
import { guardOf, rowsOf, type Page, type Step } from './page.js';
import { namedColumns } from './declared-values.js';
import { MadeRows, type MadeOptions } from './made-rows.js';
import { changedInPlace, closeLook, ofEachRow, refusedPromise, refusedRow, threw } from './row-function.js';
import { stalled, whenDry } from './stalled.js';
import { withFacts } from './step-facts.js';

const made = object({ columns: namedColumns });
const projections = object({ project: callable, options: made }, ['project']);
const conditions = object({ keep: callable }, ['keep']);
const operators = object({ operator: callable, options: made }, ['operator']);

/**
 * Applies a function to every row, which is its only argument. It receives a copy, which is frozen when the page is done: it may keep the
 * copy, but must return another row instead of changing it. Rows that it creates stay its own. Without `columns`, a later change to one
 * reaches consumers that have not read it yet. With `columns`, a change before the page is done is reported, and a later one has no effect.
 *
 * @param options The columns of the new rows, for `writeTo` and the steps after it.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid arguments. `E_STEP_FUNCTION`, by the stream, if the function throws (the
 * `cause` is what it threw), returns a promise, changes a row of leadstream in place (the current one or one that it kept), or returns a
 * row that differs from the columns. Two things are not detected: changes to rows of an earlier page by non-strict code, and symbols,
 * non-enumerable properties and prototypes set on fewer than one row in 64.
 *
 * @example
 * service.leads.pipe(mapRows(({ lead_id, zipcode }) => ({ id: lead_id, prefix: zipcode?.slice(0, 3) ?? null })));
 * // { lead_id: '7', zipcode: '10001', … }  ->  { id: '7', prefix: '100' }
 * const ages = service.users.pipe(mapRows(({ uid }) => ({ uid, length: uid?.length }), { columns: { uid: 'text', length: 'decimal' } }));
 * await writeTo(ages, csv({ path: 'lengths.csv' })); // without columns it asks for them
 */
export function mapRows<T, U>(project: (row: T) => U, options: MadeOptions<NoInfer<U>> = {}): Step<T, U> {
  checkGiven('mapRows', projections, { project, options });
  const rows = new MadeRows<U>('mapRows', options);
  const mapping: Step<T, U> = map((page) => {
    const made = rows.begin(page);
    ofEachRow(page, { at: 'mapRows', of: project, refused: (row) => refusedPromise(row) ?? made.take(row) });
    return made.done();
  });
  return withFacts(mapping, rows.facts);
}

/**
 * Keeps the rows that satisfy a condition; a page may become empty, but it stays a page.
 *
 * @throws {StepError} `E_STEP_FUNCTION`, by the stream, as in `mapRows`.
 *
 * @example
 * service.leads.pipe(filterRows((lead) => lead.lead_status === 'sold')); // `filter` also counts what it drops
 */
export function filterRows<T>(keep: (row: T) => boolean): Step<T, T> {
  checkGiven('filterRows', conditions, { keep });
  const filtering: Step<T, T> = map((page) => keepRows(page, keep, 'filterRows'));
  return withFacts(filtering, { at: 'filterRows', columns: (input) => input });
}

/**
 * Lifts a row operator (`map`, `scan`, `distinct`, `take`, or a `pipe` of such) over pages. One subscription spans the whole stream, so a
 * stateful operator keeps its state from page to page. When the operator completes, so does the stream, after the page it received last,
 * and the source is unsubscribed.
 *
 * Rows belong to the page during which they are emitted. Those emitted later go out with the next page, and those emitted after the last
 * page in one more page, numbered after it, for which the stream waits. They are not bounded by the window.
 *
 * The operator receives copies. Changing one synchronously is refused; a copy that it keeps may be changed until it is emitted, and is then
 * frozen with the page.
 *
 * @param options The columns of the rows it emits, as in `mapRows`.
 * @throws {StepError} As in `mapRows`; a failure between pages, for example after a promise, names the page before.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the stream, for an operator that never completes, once the process has nothing else left to do.
 *
 * @example
 * service.leads.pipe(liftRows((lead$) => lead$.pipe(distinct(({ zipcode }) => zipcode), take(100)))); // a lead of each of 100 zip codes
 */
export function liftRows<T, U>(operator: OperatorFunction<T, U>, options: MadeOptions<NoInfer<U>> = {}): Step<T, U> {
  checkGiven('liftRows', operators, { operator, options });
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
  return withFacts(lifting, rows.facts);
}

/** A row passed to an operator, and its index in the page, from 0. */
interface GivenRow<T> {
  readonly index: number;
  readonly row: T;
}

/** A running row operator, with one subscription for all pages. */
class LiftedRows<T, U> {
  readonly #rows$ = new Subject<T>();
  readonly #lifted: Subscription;
  #out: U[] = [];
  #last = 0;
  /** The row being passed to the operator; `undefined` between pages. */
  #given: GivenRow<T> | undefined;

  constructor(
    operator: OperatorFunction<T, U>,
    private readonly made: MadeRows<U>,
    private readonly subscriber: Subscriber<Page<U>>,
  ) {
    this.#lifted = this.#applied(operator).subscribe({
      next: (row) => this.#out.push(row),
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
    const guard = guardOf(page);
    for (const [index, row] of rowsOf(page).entries()) {
      if (this.closed) break;
      this.#given = { index, row };
      if (guard) this.#give({ index, row }, guard);
      else this.#rows$.next(row);
    }
    this.#given = undefined;
    return this.made.page(page, this.#taken());
  }

  /** Ends after the last page: emits what the operator still emits, then completes the stream. */
  complete(): void {
    if (this.closed) return this.#finish();
    this.#rows$.complete();
    if (!this.closed) this.subscriber.add(whenDry('calls', () => this.#refuseEndless()));
  }

  #applied(operator: OperatorFunction<T, U>): Observable<U> {
    try {
      return observableOf(this.#rows$.pipe(operator));
    } catch (thrown) {
      throw this.#failure(thrown);
    }
  }

  /** Reports a change that the operator makes synchronously; a copy that it keeps is its own until it is emitted. */
  #give(given: GivenRow<T>, guard: RowGuard<T>): void {
    const copy = guard.copy(given.row);
    this.#rows$.next(copy);
    const field = guard.changed(copy, given.index % closeLook === 0);
    if (field !== undefined) throw refusedRow(this.#placeOf(given), ...changedInPlace(field));
  }

  #finish(): void {
    if (this.#out.length > 0) {
      const after = { number: this.#last + 1, rows: [], lease: { release: () => {} } };
      const behind = this.#attempt(() => this.made.page(after, this.#taken()));
      if (behind === undefined) return;
      this.subscriber.next(behind);
    }
    this.subscriber.complete();
  }

  #refuseEndless(): boolean {
    this.subscriber.error(stalled('liftRows: the operator has received all rows and never completes'));
    return true;
  }

  #failure(thrown: unknown): unknown {
    if (thrown instanceof LeadstreamError) return thrown;
    const [what, more] = threw(thrown);
    if (this.#given) return refusedRow(this.#placeOf(this.#given), what, more);
    const where = this.#last === 0 ? 'before the first page' : `after page ${this.#last}`;
    const remedy = more.remedy === undefined ? '' : `; ${more.remedy}`;
    return new StepError('E_STEP_FUNCTION', `liftRows: the operator ${what} ${where}${remedy}`, { cause: thrown });
  }

  #placeOf(given: GivenRow<T>) {
    return { who: 'liftRows', at: 'liftRows', page: this.#last, ...given };
  }

  /** Errors after the last page must be sent to the subscriber directly. */
  #attempt<R>(work: () => R): R | undefined {
    try {
      return work();
    } catch (failure) {
      this.subscriber.error(failure);
      return undefined;
    }
  }

  /** Returns what the operator emitted. Our copies are frozen, since a change after they are passed on would be lost. */
  #taken(): U[] {
    const rows = this.#out;
    this.#out = [];
    for (const row of rows) if (isCopiedRow(row)) Object.freeze(row);
    return rows;
  }
}

/** Checks that the operator returned an observable. */
function observableOf<U>(lifted: Observable<U>): Observable<U> {
  if (isObservable(lifted)) return lifted;
  throw new StepError('E_STEP_FUNCTION', `liftRows: the operator returned ${given(lifted)}; it must take an observable and return another`);
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
