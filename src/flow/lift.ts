import { isObservable, Observable, Subject, map, takeWhile, type OperatorFunction, type Subscriber, type Subscription } from 'rxjs';
import { LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import { callable, checkGiven, given, object } from '../options/index.js';
import { keepRows } from './keep-rows.js';
import type { RowGuard } from '../vector/index.js';
import { guardOf, type Page, type Step } from './page.js';
import { namedColumns } from './declared-values.js';
import { MadeRows, type MadeOptions } from './made-rows.js';
import { changedInPlace, ofEachRow, refusedRow } from './row-function.js';
import { stalled, whenDry } from './stalled.js';
import { withFacts } from './step-facts.js';

const made = object({ columns: namedColumns });
const projections = object({ project: callable, options: made }, ['project']);
const conditions = object({ keep: callable }, ['keep']);
const operators = object({ operator: callable, options: made }, ['operator']);

/**
 * Applies a function to every row; it is told the row and nothing else.
 *
 * @param options The columns that its rows have, for `writeTo` and the steps behind it.
 * @throws {StepError} `E_STEP_CONFIG`, at once, for arguments that cannot be right. `E_STEP_FUNCTION`, by the stream, when the function throws, with
 * what it threw as the `cause`, when it gives a promise or changes a row of leadstream in place, and for a row that differs from the columns.
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
  const mapping: Step<T, U> = map((page) => rows.page(page, ofEachRow(page, { at: 'mapRows', of: project })));
  return withFacts(mapping, rows.facts);
}

/**
 * Keeps the rows that satisfy a condition; a page may become empty, but it stays a page.
 *
 * @throws {StepError} `E_STEP_FUNCTION`, by the stream, as `mapRows`.
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
 * Lifts a row operator (`map`, `scan`, `distinct`, `take`, or a `pipe` of such) over pages. One subscription spans the whole
 * stream, so an operator with a memory keeps it from page to page. When the operator completes, so does the stream, behind
 * the page that it was given last, and the source is left.
 *
 * Rows belong to the page during which they are emitted: those of an operator that waits go out with the next page, and those
 * that come after the last page in one more, numbered after it, for which the stream waits. They are not bounded by the window.
 *
 * @param options The columns that the rows have which come of it, as of `mapRows`.
 * @throws {StepError} As `mapRows`.
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

/** A row operator at work, with one subscription for all pages. */
class LiftedRows<T, U> {
  readonly #rows$ = new Subject<T>();
  readonly #lifted: Subscription;
  #out: U[] = [];
  #last = 0;
  /** The row that the operator is being given, from 0. */
  #index = 0;
  #inPage = false;

  constructor(
    operator: OperatorFunction<T, U>,
    private readonly made: MadeRows<U>,
    private readonly subscriber: Subscriber<Page<U>>,
  ) {
    this.#lifted = observableOf(this.#rows$.pipe(operator)).subscribe({
      next: (row) => this.#out.push(row),
      error: (error: unknown) => subscriber.error(this.#inPage ? this.#failure(error) : error),
      complete: () => {
        if (!this.#inPage) this.#finish();
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
    this.#inPage = true;
    const guard = guardOf(page);
    for (const [index, row] of page.rows.entries()) {
      if (this.closed) break;
      this.#index = index;
      if (guard) this.#give(row, guard);
      else this.#rows$.next(row);
    }
    this.#inPage = false;
    return this.made.page(page, this.#taken());
  }

  /** Behind the last page: what the operator still gives follows, and then the stream completes. */
  complete(): void {
    if (this.closed) return this.#finish();
    this.#rows$.complete();
    if (!this.closed) this.subscriber.add(whenDry('calls', () => this.#refuseEndless()));
  }

  /** What the operator changes before it lets go of the row is told; what it keeps is its own. */
  #give(row: T, guard: RowGuard<T>): void {
    const copy = guard.copy(row);
    this.#rows$.next(copy);
    const field = guard.changed(copy);
    if (field !== undefined) throw refusedRow({ ...this.#place, row }, ...changedInPlace(field));
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
    this.subscriber.error(stalled('liftRows: the operator has got all rows and never completes'));
    return true;
  }

  #failure(thrown: unknown): unknown {
    if (thrown instanceof LeadstreamError) return thrown;
    return refusedRow({ ...this.#place, row: undefined }, `threw ${whatWasThrown(thrown)}`, { cause: thrown });
  }

  get #place() {
    return { who: 'liftRows', at: 'liftRows', page: this.#last, index: this.#index };
  }

  /** What fails behind the last page, the stream has to tell itself. */
  #attempt<R>(work: () => R): R | undefined {
    try {
      return work();
    } catch (failure) {
      this.subscriber.error(failure);
      return undefined;
    }
  }

  #taken(): U[] {
    const rows = this.#out;
    this.#out = [];
    return rows;
  }
}

/** What an operator gives, which is an observable. */
function observableOf<U>(lifted: Observable<U>): Observable<U> {
  if (isObservable(lifted)) return lifted;
  throw new StepError('E_STEP_FUNCTION', `liftRows: the operator gave ${given(lifted)}; it takes an observable and gives another one`);
}

/**
 * Emits the rows of every page one by one and releases the page after its last row. A subscriber that returns from `next`
 * is done with the row: what it starts and does not wait for is no longer bounded by the window.
 */
export function rows<T>(): OperatorFunction<Page<T>, T> {
  return (pages$) =>
    new Observable((subscriber) =>
      pages$.subscribe({
        next: (page) => {
          for (const row of page.rows) {
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
