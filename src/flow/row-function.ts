import { catchError, throwError, type MonoTypeOperatorFunction } from 'rxjs';
import { LeadstreamError, saidDiscreetly, StepError, textOf, whatWasThrown, type Column, type Row } from '../core/index.js';
import type { Page } from './page.js';

/** Where a function of a program was when it failed. */
interface RowPlace {
  /** The function, like `derive: zip_prefix`, or the step alone. */
  readonly who: string;
  /** Name of the step. */
  readonly at: string;
  readonly page: number;
  /** From 0, of the rows that the step has of the page. */
  readonly index: number;
  readonly row: unknown;
}

/** What is known of the rows that a step gets, to tell one of them by. */
export interface KnownRows {
  /** Columns of the collection that identify a row. */
  readonly key: readonly string[];
  /** The columns that arrive at the step. */
  readonly columns: readonly Column[];
}

/** What a failure says before and behind its place, which may be named better by whoever knows the columns. */
interface Failed {
  readonly place: RowPlace;
  readonly what: string;
  readonly remedy?: string | undefined;
  readonly cause?: unknown;
}

const failures = new WeakMap<object, Failed>();

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
  const place = (row: unknown): RowPlace => ({ who: name === undefined ? at : `${at}: ${name}`, at, page, index, row });
  return rows.map((row) => {
    index += 1;
    const result = called(of, row, place);
    if (isPromise(result)) throw refusedRow(place(row), 'gave a promise', { remedy: 'a step does not wait for it; mapAsync does' });
    const wrong = refused?.(result);
    if (wrong) throw refusedRow(place(row), wrong.what, wrong);
    return result;
  });
}

function called<T, R>(of: (row: T) => R, row: T, place: (row: unknown) => RowPlace): R {
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
export function refusedRow(place: RowPlace, what: string, more: Pick<Failed, 'remedy' | 'cause'> = {}): StepError {
  const failed = { place, what, ...more };
  const failure = failureOf(failed);
  failures.set(failure, failed);
  return failure;
}

/**
 * Puts the key of the row into the failure of a step, where the columns that arrive at it are known. Whatever comes next leaves it as it is.
 *
 * @param at Name of the step; the failure of another one stays without a key.
 */
export function namingRows<T>(at: string | undefined, known: () => KnownRows | undefined): MonoTypeOperatorFunction<Page<T>> {
  return catchError((failure: unknown) => throwError(() => withKey(failure, at, known)));
}

function withKey(failure: unknown, at: string | undefined, known: () => KnownRows | undefined): unknown {
  const failed = typeof failure === 'object' && failure !== null ? failures.get(failure) : undefined;
  if (failed === undefined || !(failure instanceof StepError)) return failure;
  failures.delete(failure);
  const rows = failed.place.at === at ? known() : undefined;
  const key = rows && keyOf(failed.place.row, rows);
  return key === undefined ? failure : saidDiscreetly(failureOf(failed, key), failure.message);
}

/** @param key Of the row, in words. */
function failureOf({ place, what, remedy, cause }: Failed, key?: string): StepError {
  const { who, index, page } = place;
  const position = `row ${index + 1} of page ${page}`;
  const row = key === undefined ? position : `the row with ${key} (${position})`;
  const message = `${who}: the function ${what} for ${row}${remedy === undefined ? '' : `; ${remedy}`}`;
  return new StepError('E_STEP_FUNCTION', message, cause === undefined ? {} : { cause });
}

/** The key of a row in words; `undefined` where it lacks a part of it, and where a part tells of a person or is a credential. */
function keyOf(row: unknown, { key, columns }: KnownRows): string | undefined {
  if (key.length === 0 || typeof row !== 'object' || row === null) return undefined;
  const parts = key.map((name) => {
    const column = columns.find(({ source }) => source === name);
    if (column === undefined || column.sensitivity !== 'plain' || !Object.hasOwn(row, column.name)) return undefined;
    const value = (row as Row)[column.name] ?? null;
    const text = textOf(value, column.type);
    return text === null || text.length > 100 ? undefined : `${column.name} '${text}'`;
  });
  return parts.includes(undefined) ? undefined : parts.join(', ');
}

/** Whether something is a promise, or like one. */
export function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
