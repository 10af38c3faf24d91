import { itemAt, LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import { guardOf, rowsOf, type Page } from './page.js';
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
export function refusedPromise(result: unknown): Refused | undefined {
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

/** Of how many rows one is looked at closely. A function that adds symbols or sets prototypes does so with most of them. */
export const closeLook = 64;

/**
 * Calls a function for every row of a page; it is told the row and nothing else. Rows of a batch are shown to it as copies, so that a change in
 * place is seen whatever code makes it, and nobody else has to live with it. They are looked at when all have been shown, since a function may keep
 * one and change it with the next, and are frozen then: a change that comes later throws in strict code.
 *
 * @throws {StepError} `E_STEP_FUNCTION` when it throws, changes a row in place, and gives a promise. A failure of leadstream stays what it is.
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

/** What is wrong with a function that changed a field of its row, and what to do instead. */
export function changedInPlace(field: string): readonly [what: string, more: { readonly remedy: string }] {
  const remedy = 'the change would be lost; where a function gives rows, it gives another one, like { ...row, … }';
  return [`changed the field '${field}' of the row in place`, { remedy }];
}

type More = { readonly remedy?: string; readonly cause?: unknown };

type Refuse = (what: string, more: More) => StepError;

/** In what a function gives, a row stands for its copy. */
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

/** What is wrong with a function that threw something, and what to do where it tried to change a row that is frozen. */
export function threw(thrown: unknown): readonly [what: string, more: More] {
  const isFrozen = thrown instanceof TypeError && frozen.test(thrown.message);
  const remedy =
    'rows are frozen when they have been read or given, since a change would be lost; a function gives another row, like { ...row, … }';
  return [`threw ${whatWasThrown(thrown)}`, { cause: thrown, ...(isFrozen && { remedy }) }];
}

/** What V8 says of changes of what is frozen. */
const frozen = /^Cannot (?:assign to read only|add|delete|redefine|define) property|is not extensible$/;

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
