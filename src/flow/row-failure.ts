import { catchError, throwError, type MonoTypeOperatorFunction } from 'rxjs';
import { type LeadstreamError, saidDiscreetly, textOf, type Column, type Row } from '../core/index.js';
import type { Page } from './page.js';

/** Where a row was with which something could not be done. */
export interface RowPlace {
  /** Name of the step or sink. */
  readonly at: string;
  readonly page: number;
  /** From 0, of the rows that the step has of the page. */
  readonly index: number;
  readonly row: unknown;
}

/** What is known of the rows that a step or a sink gets, to tell one of them by. */
export interface KnownRows {
  /** Columns of the collection that identify a row. */
  readonly key: readonly string[];
  /** The columns that arrive. */
  readonly columns: readonly Column[];
}

/** A failure at a row, which may be told again by whoever can name the row better. */
interface Failed {
  readonly place: RowPlace;
  told(row: string): LeadstreamError;
}

const failures = new WeakMap<object, Failed>();

/**
 * A failure at one row.
 *
 * @param told Makes it of the row in words, like `row 3 of page 7`; called again when somebody knows the key of the row.
 */
export function failureAt<E extends LeadstreamError>(place: RowPlace, told: (row: string) => E): E {
  const failure = told(positionOf(place));
  failures.set(failure, { place, told });
  return failure;
}

/**
 * Puts the key of the row into a failure at one, where the columns that arrive there are known. Whatever comes next leaves it as it is.
 *
 * @param known What is known where it happened, by the name of the step or sink.
 * @returns What is to be thrown instead.
 */
export function namingRow(failure: unknown, known: (at: string) => KnownRows | undefined): unknown {
  const failed = typeof failure === 'object' && failure !== null ? failures.get(failure) : undefined;
  if (failed === undefined || !(failure instanceof Error)) return failure;
  failures.delete(failure);
  const { place, told } = failed;
  const rows = known(place.at);
  const key = rows && keyOf(place.row, rows);
  return key === undefined ? failure : saidDiscreetly(told(`the row with ${key} (${positionOf(place)})`), failure.message);
}

/**
 * The same of what ends a stream.
 *
 * @param at Name of the step; the failure of another one stays without a key.
 */
export function namingRows<T>(at: string | undefined, known: () => KnownRows | undefined): MonoTypeOperatorFunction<Page<T>> {
  return catchError((failure: unknown) => throwError(() => namingRow(failure, (where) => (where === at ? known() : undefined))));
}

function positionOf({ index, page }: RowPlace): string {
  return `row ${index + 1} of page ${page}`;
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
