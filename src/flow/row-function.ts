import { LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import type { RowGuard } from '../vector/index.js';
import { guardOf, type Page } from './page.js';
import { failureAt, type RowPlace } from './row-failure.js';

/** Where a function of a program was when it failed. */
interface FunctionPlace extends RowPlace {
  /** The function, like `derive: zip_prefix`, or the step alone. */
  readonly who: string;
}

/** What is wrong with what a function did, in words behind `the function`, and what to do instead. */
export interface Refused {
  readonly what: string;
  readonly remedy: string;
}

/** What a function gives for every row of a page. */
interface RowFunction<T, R> {
  /** Name of the step in messages. */
  readonly at: string;
  /** The one of its functions that this is. Default: it has one. */
  readonly name?: string | undefined;
  of(row: T): R;
  /** What is wrong with what it gave for a row. Default: only promises are wrong. */
  refused?(result: R, row: T): Refused | undefined;
}

/** Refuses what has to be waited for. */
function refusedPromise(result: unknown): Refused | undefined {
  return isPromise(result) ? { what: 'gave a promise', remedy: 'a step does not wait for it; mapAsync does' } : undefined;
}

/** Refuses what a condition may not give: a text is true, be it `no`, and the value of a misspelled field is false, for all rows. */
export function refusedCondition(result: unknown): Refused | undefined {
  if (typeof result === 'boolean') return undefined;
  const promise = refusedPromise(result);
  if (promise) return promise;
  const kind = result === null || result === undefined ? String(result) : typeof result === 'string' ? 'a text' : `a ${typeof result}`;
  return {
    what: `gave ${kind.replace(/^a (?=object)/, 'an ')}`,
    remedy: "a condition gives true or false, like lead.lead_status === 'sold'",
  };
}

/**
 * Calls a function for every row of a page; it is told the row and nothing else. Rows of a batch are shown to it as copies, so that a change in
 * place is seen whatever code makes it, and nobody else has to live with it.
 *
 * @throws {StepError} `E_STEP_FUNCTION` when it throws, changes the row in place, and gives a promise. A failure of leadstream stays what it is.
 */
export function ofEachRow<T, R>(shown: Page<T>, { at, name, of, refused = refusedPromise }: RowFunction<T, R>): R[] {
  const { number: page, rows } = shown;
  const who = name === undefined ? at : `${at}: ${name}`;
  const guard = guardOf(shown);
  return rows.map((row, index) => {
    const refuse: Refuse = (what, more) => refusedRow({ who, at, page, index, row }, what, more);
    const result = guard ? guarded(of, row, guard, refuse) : called(of, row, refuse);
    const wrong = refused(result, row);
    if (wrong) throw refuse(wrong.what, wrong);
    return result;
  });
}

/** What is wrong with a function that changed a field of its row, and what to do instead. */
export function changedInPlace(field: string): readonly [what: string, more: { readonly remedy: string }] {
  const remedy = 'the change would be lost; where a function gives rows, it gives another one, like { ...row, … }';
  return [`changed the field '${field}' of the row in place`, { remedy }];
}

type Refuse = (what: string, more: { readonly remedy?: string; readonly cause?: unknown }) => StepError;

/** Calls a function with a copy of a row; in what it gives, the row stands for the copy. */
function guarded<T, R>(of: (row: T) => R, row: T, guard: RowGuard<T>, refuse: Refuse): R {
  const copy = guard.copy(row);
  const result: unknown = called(of, copy, refuse);
  const field = guard.changed(copy);
  if (field !== undefined) throw refuse(...changedInPlace(field));
  const original = (each: unknown): unknown => (each === copy ? row : each);
  return (Array.isArray(result) && result.includes(copy) ? result.map(original) : original(result)) as R;
}

function called<T, R>(of: (row: T) => R, row: T, refuse: Refuse): R {
  try {
    return of(row);
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw refuse(`threw ${whatWasThrown(thrown)}`, { cause: thrown });
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
