import type { Sensitivity, DeclaredType, ValueOf } from '../core/index.js';

/** One field of a collection. */
export interface Field<T extends DeclaredType = DeclaredType> {
  readonly type: T;
  readonly sensitivity: Sensitivity;
  /** Name that the service uses, where it differs from the column's. */
  readonly original?: string;
}

export type Fields = Readonly<Record<string, Field>>;

/**
 * What is known of a collection. `fields` is keyed by column name (snake_case), in the order of the service's document.
 */
export interface Collection<N extends string = string, F extends Fields = Fields> {
  readonly name: N;
  /** Path segments below `/api` that serve the collection, the preferred one first. */
  readonly paths: readonly [string, ...string[]];
  /** Whether the list is served page by page. */
  readonly paged: boolean;
  /** Columns that together identify a row. */
  readonly key: readonly string[];
  /** Column that the identifier at the end of the path is compared with. */
  readonly id: string;
  /** Sensitivity of fields that the service's document does not list. */
  readonly unknown: Sensitivity;
  readonly fields: F;
}

/** Declares a collection; the row types follow from it. */
export function defineCollection<const N extends string, const F extends Fields>(
  collection: Collection<N, F> & { readonly key: readonly (keyof F)[]; readonly id: keyof F },
): Collection<N, F> {
  return collection;
}

/** A row as the service gives it: text in every column, `null` where the service sent no such field. */
export type RowOf<C extends Collection> = { readonly [K in keyof C['fields']]: string | null };

/** A row after `cast`: every column in its declared type. */
export type TypedRowOf<C extends Collection> = { readonly [K in keyof C['fields']]: ValueOf[C['fields'][K]['type']] | null };

type Options = Partial<Pick<Field, 'sensitivity' | 'original'>>;

function field<T extends DeclaredType>(type: T) {
  return (options: Options = {}): Field<T> => ({ type, sensitivity: 'plain', ...options });
}

export const text = field('text');
export const flag = field('flag');
export const integer = field('integer');
export const decimal = field('decimal');
export const timestamp = field('timestamp');
export const date = field('date');

/** Text about a person. */
export const personal = (original?: string): Field<'text'> => text({ sensitivity: 'personal', ...named(original) });

/** Credential-like text. */
export const secret = (original?: string): Field<'text'> => text({ sensitivity: 'secret', ...named(original) });

function named(original: string | undefined): Options {
  return original === undefined ? {} : { original };
}
