import { catchError, throwError, type MonoTypeOperatorFunction } from 'rxjs';
import { type LeadstreamError, withDiscreetMessage, textOf, type Column, type Row } from '../core/index.js';
import type { Page } from './page.js';

export interface RowPlace {
  readonly at: string;
  readonly page: number;
  /** Index within the step's rows of the page, from 0. */
  readonly index: number;
  readonly row: unknown;
}

/** What is known about the rows that arrive at a step or sink: the columns that identify a row, and all columns. */
export interface KnownRows {
  readonly key: readonly string[];
  readonly columns: readonly Column[];
}

/** Failures at a row, whose messages are rebuilt when the row's key is known. */
const failures = new WeakMap<object, { readonly place: RowPlace; make(row: string): LeadstreamError }>();

/** Creates a failure at a row from its description, like `row 3 of page 7`, and again when the row's key becomes known. */
export function failureAt<E extends LeadstreamError>(place: RowPlace, make: (row: string) => E): E {
  const failure = make(positionOf(place));
  failures.set(failure, { place, make });
  return failure;
}

/** Returns a failure with the row's key, if the step of that name knows enough. Later calls leave the failure unchanged. */
export function namingRow(failure: unknown, known: (at: string) => KnownRows | undefined): unknown {
  const failed = typeof failure === 'object' && failure !== null ? failures.get(failure) : undefined;
  if (failed === undefined || !(failure instanceof Error)) return failure;
  failures.delete(failure);
  const { place, make } = failed;
  const rows = known(place.at);
  const key = rows && shownKey(place.row, rows);
  return key === undefined ? failure : withDiscreetMessage(make(`the row with ${key} (${positionOf(place)})`), failure.message);
}

/** Adds the row's key to the error of the step `at` that ends a stream. */
export function namingRows<T>(at: string | undefined, known: () => KnownRows | undefined): MonoTypeOperatorFunction<Page<T>> {
  return catchError((failure: unknown) => throwError(() => namingRow(failure, (where) => (where === at ? known() : undefined))));
}

function positionOf({ index, page }: RowPlace): string {
  return `row ${index + 1} of page ${page}`;
}

/** Describes the key of a row; `undefined` if a part is missing, personal or a credential. */
export function shownKey(row: unknown, { key, columns }: KnownRows): string | undefined {
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
