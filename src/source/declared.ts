import type { z } from 'zod';
import {
  defined,
  type DeclaredType,
  type Sensitivity,
  declaredTypes,
  schema,
  sensitivities,
  unknownName,
  wrongOption,
} from '../core/index.js';
import { parsedBy, distinct, settings, usually } from '../options/index.js';
import { type Collection, type EndForm, type Field, type Paging, type Served, collectionNames } from '../collections/index.js';
import { credentialParameters } from '../http/index.js';
import { segmentsOf } from '../json/index.js';

const schemes = ['page', 'offset', 'cursor', 'link', 'none'] as const satisfies readonly Paging['scheme'][];
const endForms = ['empty_object', 'null', 'no_content', 'no_rows', 'not_found', 'empty_page'] as const satisfies readonly EndForm[];

const takes: Readonly<Record<(typeof schemes)[number], readonly string[]>> = {
  page: ['param', 'limit', 'first'],
  offset: ['param', 'limit'],
  cursor: ['param', 'limit', 'next', 'last', 'more'],
  link: ['limit', 'next', 'keep_query'],
  none: [],
};

const pointer = schema((z) =>
  z
    .string()
    .regex(
      /^(?:\/(?:[^~/]|~[01])*)*$/,
      'must be a JSON pointer: empty for the whole, or like /data/items, with ~1 for / and ~0 for ~ in names',
    ),
);

const paging = schema((z) =>
  z
    .strictObject({
      scheme: z.enum(schemes).describe('How pages are requested.'),
      param: z
        .string()
        .min(1)
        .optional()
        .describe('Parameter of the page number (default page), the offset (default offset) or the cursor.'),
      limit: usually(z.string().min(1), 'limit').describe('Parameter of the page size, or none if there is none.'),
      first: settings().firstPage.optional().describe('page: number of the first page, 0 or 1. Default service.first_page.'),
      next: pointer()
        .optional()
        .describe('cursor: where a response has the cursor of the next page. link: where it has the link, if not in the header Link.'),
      last: z.string().min(1).optional().describe('cursor: the field of the last row that is the cursor of the next page.'),
      more: pointer().optional().describe('cursor: where a response says whether there are more rows: true or 1, false or 0.'),
      keep_query: z.boolean().optional().describe('link: true adds what is missing of query, false accepts it. Default: a warning.'),
    })
    .superRefine(({ scheme, ...given }, context) => {
      const refuse = (key: string, message: string) => context.addIssue({ code: 'custom', path: [key], message });
      for (const [key, value] of Object.entries(given))
        if (value !== undefined && !takes[scheme].includes(key)) refuse(key, `'${key}' does not apply to the scheme ${scheme}`);
      if (scheme !== 'cursor') return;
      if (given.param === undefined) refuse('scheme', "the scheme cursor needs 'param', the parameter of the cursor");
      if ((given.next === undefined) === (given.last === undefined))
        refuse('scheme', "the scheme cursor needs either 'next', a pointer to the cursor, or 'last', a field of the last row");
    }),
);

const field = schema((z) => {
  const type = z.enum(declaredTypes);
  const at = pointer().refine((text) => text !== '', 'must name a part of the record, like /address/city');
  return z.union([
    type,
    z.strictObject({
      type: type.describe('Type of the values.'),
      sensitivity: z.enum(sensitivities).default('plain').describe('Who may see them.'),
      at: at.optional().describe('JSON pointer to the value in the record. Default: the name of the column.'),
    }),
  ]);
});

const declaration = schema((z) => {
  const column = z
    .string()
    .regex(/^(?!__proto__$)[a-z_][a-z0-9_]*$/, 'a column name may contain only a-z, 0-9 and _; use at for a field with another name');
  return z.strictObject({
    path: z
      .string()
      .refine(isPath, 'must be a path below base_url, like /v2/orders, without a query, dots or characters that need escaping')
      .describe('Path of the list below base_url, like /v2/orders.'),
    key: distinct(z.array(column).min(1)).describe('Columns that together identify a row.'),
    paging: paging().describe('How the list is paged.'),
    rows: pointer().optional().describe('JSON pointer to the list in a response, like /data/items. Default: the response itself.'),
    query: z
      .record(z.string().min(1), z.string())
      .optional()
      .describe('Additional parameters of every request, like { status: any }; credentials belong under service.auth.'),
    end: z
      .union([z.enum(endForms), z.array(z.enum(endForms)).min(1)])
      .optional()
      .describe(
        'Responses other than a list that mean that there are no rows. no_rows: rows points to nothing, or to null. empty_page: a page without rows is the last one, even if it names a next one (cursor and link).',
      ),
    undeclared: z
      .enum(['keep', 'drop'])
      .default('keep')
      .describe('Whether fields that are not declared become columns, with a warning, or are left out.'),
    fields: z
      .record(column, field())
      .refine((fields) => Object.keys(fields).length > 0, 'needs at least one field')
      .describe('Type by column; or a map with type, sensitivity, and at, a JSON pointer to the value.'),
  });
});

export function collectionShape(name: unknown) {
  return declaration().superRefine(({ fields, key, paging, query = {} }, context) => {
    const refuse = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (collectionNames.some((known) => known === name))
      refuse([], `'${String(name)}' is a collection that every service has; choose another name`);
    else if (typeof name !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(name))
      refuse([], 'a collection name may contain only a-z, 0-9 and _, and begins with a letter');

    const checkColumn = (path: (string | number)[], column: string, why: string) => {
      const declared = Object.hasOwn(fields, column) ? fields[column] : undefined;
      if (declared === undefined) refuse(path, unknownName('field', column, Object.keys(fields)));
      else if (typeof declared === 'object' && declared.sensitivity === 'secret')
        refuse(path, `'${column}' is secret, so it is withheld${why}`);
    };
    key.forEach((column, index) => checkColumn(['key', index], column, ' and cannot identify rows'));
    if (paging.last !== undefined) checkColumn(['paging', 'last'], paging.last, '');

    const { scheme, param = scheme === 'page' || scheme === 'offset' ? scheme : undefined, limit = 'limit' } = paging;
    const own = scheme === 'none' ? [] : [param, limit];
    if (param === limit && scheme !== 'none') refuse(['paging', 'limit'], `'${limit}' is already the parameter 'param'`);
    for (const parameter of Object.keys(query)) {
      if (own.includes(parameter)) refuse(['query', parameter], `'${parameter}' is a parameter of paging`);
      if (credentialParameters.includes(parameter.toLowerCase()) || credentialLike.test(parameter))
        refuse(['query', parameter], `'${parameter}' is named like a credential, and credentials are accepted only under service.auth`);
    }
  });
}

const credentialLike = /(?:^|[_-])(?:api[_-]?key|token|secret|password)$/i;

/** Returns whether a URL keeps a path unchanged; otherwise requests would go to another path. */
function isPath(text: string): boolean {
  const base = 'http://localhost';
  return /^\/[^?#]*$/.test(text) && URL.canParse(text, base) && new URL(text, base).href === base + text;
}

/** The collections of a file, by name; `collectionShape` checks each of them. */
export const collectionsShape = schema((z) => z.record(z.string(), declaration()));

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
  /** JSON pointer to the list in a response. Default: the response itself. */
  readonly rows?: string;
  /** Additional parameters of every request. Default: none. */
  readonly query?: Readonly<Record<string, string>>;
  /** Responses other than a list that mean that there are no rows. Default: none. */
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
  const declared = parsedBy(collectionShape(name), declaration, (problems) => wrongOption(`collection ${String(name)}: ${problems}`));
  // A valid declaration creates the fields of its type, but the type system cannot follow the map of fields.
  return collectionOf(name, declared) as unknown as CollectionOf<N, F>;
}

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
  const nested = entries.flatMap(({ segments }) => (segments.length > 1 ? [segments] : []));
  const whole = new Set(entries.flatMap(({ segments }) => (segments.length === 1 ? segments : [])));
  const served: Served = {
    // The shape has checked which options the scheme has.
    paging: defined(paging) as Paging,
    rows: segmentsOf(rows),
    query,
    ends: [end].flat(),
    nested: new Map(nested.map((segments) => [segments.join('.'), segments])),
    opened: new Set(nested.flatMap(([name = '']) => (whole.has(name) ? [] : [name]))),
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
