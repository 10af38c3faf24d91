import type { z } from 'zod';
import { segmentsOf, SourceError, type DeclaredType, type Sensitivity } from '../../core/index.js';
import { optionProblems } from '../../options/index.js';
import type { Collection, EndForm, Field, Paging, Served } from '../../collections/index.js';
import { collectionShape } from './shape.js';

/** A field of a custom collection: its type, or an object with more details. */
export type FieldDeclaration<T extends DeclaredType = DeclaredType> =
  | T
  | {
      readonly type: T;
      /** Default `plain`. */
      readonly sensitivity?: Sensitivity;
      /** JSON pointer to the field in the record, like `/address/city`. Default: the column name. */
      readonly at?: string;
    };

type FieldDeclarations = Readonly<Record<string, FieldDeclaration>>;

/** A custom collection, as declared under `collections` in a pipeline file. */
export interface CollectionDeclaration<F extends FieldDeclarations = FieldDeclarations> {
  /** Path of the list below the base URL, like `/v2/orders`. */
  readonly path: string;
  /** Columns that together identify a row. */
  readonly key: readonly (keyof F & string)[];
  readonly paging: Paging;
  /** JSON pointer to the list in an answer. Default: the answer itself. */
  readonly rows?: string;
  /** Additional parameters of every request. Default: none. */
  readonly query?: Readonly<Record<string, string>>;
  /** Answers other than a list that mean there are no rows. Default: none. */
  readonly end?: EndForm | readonly EndForm[];
  /** Whether undeclared fields become columns, or are silently left out. Default `keep`. */
  readonly undeclared?: 'keep' | 'drop';
  /** By column, in snake_case. */
  readonly fields: F;
}

/** The type of the collection created by a declaration. */
export type CollectionOf<N extends string, F extends FieldDeclarations> = Collection<
  N,
  { readonly [K in keyof F]: Field<TypeOf<F[K]>, SensitivityOf<F[K]>> }
>;

type SensitivityOf<D> = D extends { readonly sensitivity: infer S extends Sensitivity } ? S : 'plain';

type TypeOf<D> = D extends DeclaredType ? D : D extends { readonly type: infer T extends DeclaredType } ? T : never;

/**
 * Declares a custom collection, for `connect({ collections: [orders] })`.
 *
 * @param name Made of a-z, 0-9 and `_`; not the name of a collection that every service has.
 * @throws {SourceError} `E_SOURCE_CONFIG` for an invalid declaration, with every problem.
 *
 * @example
 * const orders = defineCollection('orders', {
 *   path: '/v2/orders',
 *   key: ['no'],
 *   rows: '/data/items',
 *   paging: { scheme: 'cursor', next: '/paging/next', param: 'cursor' },
 *   fields: { no: 'text', total: 'decimal', email: { type: 'text', sensitivity: 'personal' } },
 * });
 * connect({ baseUrl, auth, collections: [orders] }).collection('orders'); // rows like { no: '1', total: '12.50', email: 'a@b.c' }, …
 */
export function defineCollection<const N extends string, const F extends FieldDeclarations>(
  name: N,
  declaration: CollectionDeclaration<F>,
): CollectionOf<N, F> {
  const problems = optionProblems(collectionShape(name), declaration, ['query']);
  if (problems.length > 0)
    throw new SourceError('E_SOURCE_CONFIG', 'permanent', problems.map((problem) => `collection ${String(name)}: ${problem}`).join('; '));
  // A valid declaration creates the fields of its type, which the type system cannot follow through the map of fields.
  return collectionOf(name, collectionShape(name).parse(declaration)) as unknown as CollectionOf<N, F>;
}

/** Creates the collection of a valid declaration. */
export function collectionOf(name: string, declared: z.output<ReturnType<typeof collectionShape>>): Collection {
  const { path, key, rows = '', paging, query = {}, end = [], undeclared } = declared;
  const entries = Object.entries(declared.fields).map(([column, field]) => {
    const { type, sensitivity = 'plain', at = `/${column}` } = typeof field === 'string' ? { type: field } : field;
    return { column, type, sensitivity, segments: segmentsOf(at) };
  });
  const fields = entries.map(({ column, type, sensitivity, segments }): [string, Field] => {
    const original = segments.join('.');
    return [column, { type, sensitivity, ...(original === column ? {} : { original }) }];
  });
  const nested = entries.filter(({ segments }) => segments.length > 1).map(({ segments }) => [segments.join('.'), segments] as const);
  const whole = new Set(entries.flatMap(({ segments }) => (segments.length === 1 ? segments : [])));
  const outer = nested.flatMap(([, [name = '']]) => (whole.has(name) ? [] : [name]));
  const served: Served = {
    paging: pagingOf(paging),
    rows: segmentsOf(rows),
    query,
    ends: [end].flat(),
    nested: new Map(nested),
    opened: new Set(outer),
    dropsUndeclared: undeclared === 'drop',
  };
  return {
    name,
    paths: [path],
    paged: paging.scheme !== 'none',
    key,
    id: key[0] ?? '',
    unknown: 'plain',
    fields: Object.fromEntries(fields),
    served,
  };
}

/** The shape has checked which options go with the scheme. */
function pagingOf({ scheme, param = '', ...paging }: z.output<ReturnType<typeof collectionShape>>['paging']): Paging {
  const given = Object.fromEntries(Object.entries(paging).filter(([, value]) => value !== undefined));
  return { scheme, ...(param === '' ? {} : { param }), ...given } as Paging;
}
