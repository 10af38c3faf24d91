import type { Sensitivity, DeclaredType, ValueOf, Column } from '../core/index.js';

/** A field of a collection. */
export interface Field<T extends DeclaredType = DeclaredType, S extends Sensitivity = Sensitivity> {
  readonly type: T;
  readonly sensitivity: S;
  /** The service's name of the field, if it is not the column's. */
  readonly original?: string;
  /** What the values mean, for the comments of outputs. */
  readonly description?: string | undefined;
}

export type Fields = Readonly<Record<string, Field>>;

/** A collection. `fields` is keyed by column name (snake_case), in the order of the service's document. */
export interface Collection<N extends string = string, F extends Fields = Fields, U extends Sensitivity = Sensitivity> {
  readonly name: N;
  /** Paths that serve the collection, the preferred one first: below `/api`, or with a leading slash below the base URL. */
  readonly paths: readonly [string, ...string[]];
  /** Whether the list is read page by page. */
  readonly paged: boolean;
  /** Columns that together identify a row. */
  readonly key: readonly string[];
  /** The column of the identifier at the end of a path. */
  readonly id: string;
  /** Sensitivity of fields that the service's document does not list. */
  readonly unknown: U;
  readonly fields: F;
  /** How a declared collection is served; those of the service have none. */
  readonly served?: Served;
}

export type Registry = Readonly<Record<string, Collection>>;

/**
 * How a declared collection is paged. `limit` is the parameter of the page size, or `none` if the service takes none; `param` that of the
 * page number, the offset or the cursor. Pointers are JSON pointers (RFC 6901) into the response.
 */
export type Paging =
  /** Pages by number, from `first` on (0 or 1). Default: 1, and a run checks that no page precedes it. */
  | { readonly scheme: 'page'; readonly param?: string; readonly limit?: string; readonly first?: number }
  /** Pages by the number of rows before them. */
  | { readonly scheme: 'offset'; readonly param?: string; readonly limit?: string }
  /** Each page names the next by a cursor at `next`, or by field `last` of its last row. No cursor, or `false` at `more`, ends the list. */
  | {
      readonly scheme: 'cursor';
      readonly param: string;
      readonly next?: string;
      readonly last?: string;
      readonly more?: string;
      readonly limit?: string;
    }
  /** Each page links to the next: by a header `Link` with `rel="next"` (RFC 8288), or at `next`. `keep_query` adds `query` to links. */
  | { readonly scheme: 'link'; readonly next?: string; readonly limit?: string; readonly keep_query?: boolean }
  /** One response has all rows. */
  | { readonly scheme: 'none' };

/**
 * A response that means that no more rows follow: `{}`, `null`, an empty body (or status 204), nothing at the place of the rows, status
 * 404, or (with cursors and links) a page without rows that names a next one all the same.
 */
export type EndForm = 'empty_object' | 'null' | 'no_content' | 'no_rows' | 'not_found' | 'empty_page';

export interface Served {
  readonly paging: Paging;
  /** Names on the way to the list in a response; empty if the response is the list. */
  readonly rows: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  /** Responses that mean that there are no rows. */
  readonly ends: readonly EndForm[];
  /** Where to find fields that are not at a name of the record itself. */
  readonly nested: ReadonlyMap<string, readonly string[]>;
  /** Undeclared fields that contain such places: what is declared of them is taken out. */
  readonly opened: ReadonlySet<string>;
  readonly dropsUndeclared: boolean;
}

/** Declares a collection of the service; its row types follow from it. Default: its name is its path, and it is paged. */
export function serviceCollection<const N extends string, const K extends string, const U extends Sensitivity = 'plain'>(
  own: { readonly name: N; readonly key: readonly [K, ...K[]]; readonly unknown?: U } & Partial<Pick<Collection, 'paths' | 'paged'>>,
) {
  return <const F extends Fields & Readonly<Record<K, Field>>>(fields: F): Collection<N, F, U> => {
    return { paths: [own.name], paged: true, id: own.key[0], unknown: 'plain' as U, ...own, fields };
  };
}

/** The name of a field if rows have it: secret fields must be named under `reveal`. */
type Visible<C extends Collection, K extends keyof C['fields'], Revealed> = C['fields'][K] extends { readonly sensitivity: 'secret' }
  ? Extract<K, Revealed>
  : K;

/**
 * A row as the service returns it: text in every column, `null` for a field it did not send. Flags are yes/no, y/n, true/false or 1/0 in
 * any case, timestamps seconds since 1970, dates YYYYMMDD: `cast` these, and numbers, before you compare them.
 *
 * @typeParam Revealed Secret fields that were named under `reveal`. Default: none.
 */
export type RowOf<C extends Collection, Revealed extends string = never> = {
  readonly [K in keyof C['fields'] as Visible<C, K, Revealed>]: string | null;
};

/** The secret fields of a collection, as they appear in rows that reveal them. */
export type SecretsOf<C extends Collection> = {
  readonly [K in keyof C['fields'] as Exclude<K, Visible<C, K, never>>]: string | null;
};

/** A row after `cast(typesOf(collection))`: every column in its declared type. */
export type TypedRowOf<C extends Collection, Revealed extends string = never> = {
  readonly [K in keyof C['fields'] as Visible<C, K, Revealed>]: ValueOf[C['fields'][K]['type']] | null;
};

function field<T extends DeclaredType>(type: T) {
  return <S extends Sensitivity = 'plain'>(options: { readonly sensitivity?: S; readonly original?: string } = {}): Field<T, S> => {
    const { sensitivity = 'plain' as S, ...rest } = options;
    return { type, sensitivity, ...rest };
  };
}

export const text = field('text');
export const flag = field('flag');
export const integer = field('integer');
export const decimal = field('decimal');
export const timestamp = field('timestamp');
export const date = field('date');

export const personal = (original?: string) => text({ sensitivity: 'personal', ...(original !== undefined && { original }) });

export const secret = (original?: string) => text({ sensitivity: 'secret', ...(original !== undefined && { original }) });

export function originalName(column: string, field: Field): string {
  return field.original ?? column;
}

/**
 * The columns of a collection as the client delivers them, in the order of the service's document, without unrevealed secret ones.
 *
 * @example
 * columnsOf(collections.users); // [{ name: 'uid', original: 'uid', type: 'text', sensitivity: 'plain', … }, …]
 */
export function columnsOf<C extends Collection>(collection: C, reveal: readonly (keyof C['fields'] & string)[] = []): readonly Column[] {
  const withheld = withheldOf(collection, reveal);
  return Object.entries(collection.fields)
    .filter(([name]) => !withheld.includes(name))
    .map(([name, { type, sensitivity, original = name, description }]) => {
      return { name, original, type, cast: false, sensitivity, source: name, origin: `${original} of ${collection.name}`, description };
    });
}

/** Returns a list as files with several services name it, like `eu.leads`; its path stays. */
export function listOf<C extends Collection>(service: string, collection: C): C {
  return service === '' ? collection : { ...collection, name: `${service}.${collection.name}` };
}

/** Splits the name of a list: `eu.leads` is `leads` of the service `eu`, and one without a dot of the file's only one, `''`. */
export function partsOfList(list: string): readonly [service: string, name: string] {
  const at = list.indexOf('.');
  return [list.slice(0, Math.max(at, 0)), list.slice(at + 1)];
}

export function withheldOf({ fields }: Collection, reveal: readonly string[] = []): readonly string[] {
  return Object.entries(fields)
    .filter(([name, { sensitivity }]) => sensitivity === 'secret' && !reveal.includes(name))
    .map(([name]) => name);
}

/** The declared types of the fields that rows have, for `cast`. */
export type TypesOf<C extends Collection, Revealed extends string = never> = {
  readonly [K in keyof RowOf<C, Revealed>]: C['fields'][K]['type'];
};

/**
 * The declared types of a collection's fields for `cast`, which then returns `TypedRowOf`. Unrevealed secret fields are left out.
 *
 * @example
 * for await (const lead of service.leads.pipe(cast(typesOf(collections.leads)))) console.log(lead.timestamp?.toISOString());
 */
export function typesOf<C extends Collection, const Revealed extends keyof SecretsOf<C> & string = never>(
  collection: C,
  reveal: readonly Revealed[] = [],
): TypesOf<C, Revealed> {
  // These are the columns of the fields, but the type system cannot follow the mapping.
  return Object.fromEntries(columnsOf(collection, reveal).map(({ name, type }) => [name, type])) as TypesOf<C, Revealed>;
}
