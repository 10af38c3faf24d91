import { LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import { kindOf } from '../options/index.js';
import { isBatchPage, rowsOf, withBatch, withRows, type Page } from './page.js';
import { failureAt, type RowPlace } from './row-failure.js';

/** The place where a program's function failed. */
interface FunctionPlace extends RowPlace {
  /** The function, like `derive: zip_prefix`, or only the step. */
  readonly who: string;
}

/** What a function did wrong, as text to follow `the function`, and what to do instead. */
export interface Refused {
  readonly what: string;
  readonly remedy: string;
}

/** A function to call for every row of a page. */
interface RowFunction<T, R> {
  /** Name of the step in messages. */
  readonly at: string;
  /** Name of the function. Default: the step has only one. */
  readonly name?: string | undefined;
  of(row: T): R;
  /** Returns what is wrong with the result for a row. Default: only promises are refused. */
  refused?(result: R, row: T): Refused | undefined;
}

/**
 * Calls a function for every row of a page, which is its only argument. Rows of a batch are frozen.
 *
 * @throws {StepError} `E_STEP_FUNCTION` if it throws or its result is refused. A failure of leadstream is passed on unchanged.
 */
export function ofEachRow<T, R>(page: Page<T>, { at, name, of, refused = refusedPromise }: RowFunction<T, R>): R[] {
  const who = name === undefined ? at : `${at}: ${name}`;
  return rowsOf(page).map((row, index) => {
    const place = { who, at, page: page.number, index, row };
    const result = called(of, row, place);
    const wrong = refused(result, row);
    if (wrong) throw refusedRow(place, wrong.what, wrong);
    return result;
  });
}

/** Keeps the rows that satisfy a condition of a program. The page stays columnar if it was. @throws {StepError} As `ofEachRow`. */
export function keepRows<T>(page: Page<T>, condition: (row: T) => boolean, at: string): Page<T> {
  const holds = ofEachRow(page, { at, of: condition, refused: refusedCondition });
  if (isBatchPage(page))
    return withBatch(
      page,
      page.batch.filter((index) => holds[index] === true),
    );
  return withRows(
    page,
    page.rows.filter((_, index) => holds[index]),
  );
}

/** Refuses a promise. */
export function refusedPromise(result: unknown): Refused | undefined {
  return isPromise(result) ? { what: 'returned a promise', remedy: 'a step does not wait for it; mapAsync does' } : undefined;
}

/** Refuses anything but a boolean from a condition: a promise or a text is true, even `no`, and the value of a misspelled field is false, for all rows. */
export function refusedCondition(result: unknown): Refused | undefined {
  if (typeof result === 'boolean') return undefined;
  const remedy = "a condition must return true or false, like lead.lead_status === 'sold'";
  return refusedPromise(result) ?? { what: `returned ${kindOf(result)}`, remedy };
}

/**
 * Creates the failure of a function that misused a row.
 *
 * @param what Text to follow `the function`.
 */
export function refusedRow(
  { who, ...place }: FunctionPlace,
  what: string,
  { remedy, cause }: { readonly remedy?: string | undefined; readonly cause?: unknown } = {},
): StepError {
  return failureAt(place, (row) => {
    const message = `${who}: the function ${what} for ${row}${remedy === undefined ? '' : `; ${remedy}`}`;
    return new StepError('E_STEP_FUNCTION', message, cause === undefined ? {} : { cause });
  });
}

function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function called<T, R>(of: (row: T) => R, row: T, place: FunctionPlace): R {
  try {
    return of(row);
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw refusedRow(place, `threw ${whatWasThrown(thrown)}`, { cause: thrown });
  }
}
