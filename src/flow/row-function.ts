import { itemAt, LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import { guardOf, rowsOf, type Page } from './page.js';
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

/** Refuses a promise. */
export function refusedPromise(result: unknown): Refused | undefined {
  return isPromise(result) ? { what: 'returned a promise', remedy: 'a step does not wait for it; mapAsync does' } : undefined;
}

/** Refuses anything but a boolean from a condition: a text is true, even `no`, and the value of a misspelled field is false, for all rows. */
export function refusedCondition(result: unknown): Refused | undefined {
  if (typeof result === 'boolean') return undefined;
  const promise = refusedPromise(result);
  if (promise) return promise;
  const kind = result === null || result === undefined ? String(result) : typeof result === 'string' ? 'a text' : `a ${typeof result}`;
  return {
    what: `returned ${kind.replace(/^a (?=object)/, 'an ')}`,
    remedy: "a condition must return true or false, like lead.lead_status === 'sold'",
  };
}

/** One row in this many is checked closely. A function that adds symbols or sets prototypes does so with most rows. */
export const closeLook = 64;

/**
 * Calls a function for every row of a page, which is its only argument. It receives rows of a batch as copies, so that a change in place is
 * detected in non-strict code too, and affects no one else. The copies are checked after the last call, since a function may keep one and
 * change it during the next, and then frozen, so that a later change throws in strict code.
 *
 * @throws {StepError} `E_STEP_FUNCTION` if it throws, changes a row in place, or returns a promise. A failure of leadstream is passed on unchanged.
 */
export function ofEachRow<T, R>(page: Page<T>, { at, name, of, refused = refusedPromise }: RowFunction<T, R>): R[] {
  const rows = rowsOf(page);
  const guard = guardOf(page);
  const shown = guard ? rows.map((row) => guard.copy(row)) : rows;
  const who = name === undefined ? at : `${at}: ${name}`;
  const refuse =
    (index: number): Refuse =>
    (what, more) =>
      refusedRow({ who, at, page: page.number, index, row: itemAt(rows, index) }, what, more);
  const refuseChange = (index: number): void => {
    const field = guard?.changed(itemAt(shown, index), index % closeLook === 0);
    if (field !== undefined) throw refuse(index)(...changedInPlace(field));
  };
  const results = rows.map((row, index) => {
    const copy = itemAt(shown, index);
    const result = original(called(of, copy, refuse(index)), copy, row);
    const wrong = refused(result, row);
    if (!wrong) return result;
    refuseChange(index);
    throw refuse(index)(wrong.what, wrong);
  });
  if (guard)
    for (const [index, copy] of shown.entries()) {
      refuseChange(index);
      Object.freeze(copy);
    }
  return results;
}

/** Describes a change to a field in place, and what to do instead. */
export function changedInPlace(field: string): readonly [what: string, more: { readonly remedy: string }] {
  const remedy = 'the change would be lost; a function that returns rows must return a new one, like { ...row, … }';
  return [`changed the field '${field}' of the row in place`, { remedy }];
}

type More = { readonly remedy?: string; readonly cause?: unknown };

type Refuse = (what: string, more: More) => StepError;

/** Replaces copies by the original rows in a function's result. */
function original<T, R>(result: R, copy: T, row: T): R {
  if (copy === row) return result;
  const of = (each: unknown): unknown => (each === copy ? row : each);
  return (Array.isArray(result) && result.includes(copy) ? result.map(of) : of(result)) as R;
}

function called<T, R>(of: (row: T) => R, row: T, refuse: Refuse): R {
  try {
    return of(row);
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw refuse(...threw(thrown));
  }
}

/** Describes what a function threw, and what to do if it tried to change a frozen row. */
export function threw(thrown: unknown): readonly [what: string, more: More] {
  const isFrozen = thrown instanceof TypeError && frozen.test(thrown.message);
  const remedy = 'rows are frozen once they are read or returned, because a change would be lost; return a new row, like { ...row, … }';
  return [`threw ${whatWasThrown(thrown)}`, { cause: thrown, ...(isFrozen && { remedy }) }];
}

/** V8's messages for changes to frozen objects. */
const frozen = /^Cannot (?:assign to read only|add|delete|redefine|define) property|is not extensible$/;

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

/** Returns whether a value is a promise or thenable. */
export function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
