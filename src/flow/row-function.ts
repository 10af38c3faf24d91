import { LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import type { Page } from './page.js';
import { failureAt, type RowPlace } from './row-failure.js';

/** Where a function of a program was when it failed. */
interface FunctionPlace extends RowPlace {
  /** The function, like `derive: zip_prefix`, or the step alone. */
  readonly who: string;
}

/** What a function gives for every row of a page. */
interface RowFunction<T, R> {
  /** Name of the step in messages. */
  readonly at: string;
  /** The one of its functions that this is. Default: it has one. */
  readonly name?: string | undefined;
  /** It is told the row and nothing else. */
  of(row: T): R;
  /** What is wrong with what it gave, in words behind `the function`, and what to do instead. Default: only promises are wrong. */
  refused?(result: R): { readonly what: string; readonly remedy: string } | undefined;
}

/** Refuses what a condition may not give: a text is true, be it `no`, and the value of a misspelled field is false, for all rows. */
export function refusedCondition(result: unknown): { readonly what: string; readonly remedy: string } | undefined {
  if (typeof result === 'boolean') return undefined;
  const kind = result === null || result === undefined ? String(result) : typeof result === 'string' ? 'a text' : `a ${typeof result}`;
  return {
    what: `gave ${kind.replace(/^a (?=object)/, 'an ')}`,
    remedy: "a condition gives true or false, like lead.lead_status === 'sold'",
  };
}

/**
 * Calls a function for every row of a page.
 *
 * @throws {StepError} `E_STEP_FUNCTION` when it throws, and when it gives a promise. A failure of leadstream stays what it is.
 */
export function ofEachRow<T, R>({ number: page, rows }: Page<T>, { at, name, of, refused }: RowFunction<T, R>): R[] {
  let index = -1;
  const place = (row: unknown): FunctionPlace => ({ who: name === undefined ? at : `${at}: ${name}`, at, page, index, row });
  return rows.map((row) => {
    index += 1;
    const result = called(of, row, place);
    if (isPromise(result)) throw refusedRow(place(row), 'gave a promise', { remedy: 'a step does not wait for it; mapAsync does' });
    const wrong = refused?.(result);
    if (wrong) throw refusedRow(place(row), wrong.what, wrong);
    return result;
  });
}

function called<T, R>(of: (row: T) => R, row: T, place: (row: unknown) => FunctionPlace): R {
  try {
    return of(row);
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw refusedRow(place(row), `threw ${whatWasThrown(thrown)}`, { cause: thrown });
  }
}

/**
 * A function did something with a row that it may not do.
 *
 * @param what In words, behind `the function`.
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

/** Whether something is a promise, or like one. */
export function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
