import type { z } from 'zod';
import { byName, defined, declaredTypes, schema, sensitivities, unknownName, wrongOption } from '../core/index.js';
import type { DeclaredType, Sensitivity, Zod } from '../core/index.js';
import { parsedBy, distinct, settings, usually } from '../options/index.js';
import { collectionNames, collections, originalName } from '../collections/index.js';
import type { Collection, EndForm, Field, Fields, Paging, Served } from '../collections/index.js';
import { credentialParameters } from '../http/index.js';
import { segmentsOf } from '../json/index.js';
import { registryOf } from './options.js';

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

const columnKey = schema((z) =>
  z
    .string()
    .regex(/^(?!__proto__$)[a-z_][a-z0-9_]*$/, 'a column name may contain only a-z, 0-9 and _; use at for a field with another name'),
);

function fieldOf<A extends z.ZodType, S extends z.ZodType>(z: Zod, more: { readonly at: A; readonly sensitivity: S }) {
  const type = z.enum(declaredTypes).describe('Type of the values.');
  const description = z.string().min(1).optional().describe('What they mean, for the comments of outputs.');
  return z.union([type, z.strictObject({ type, ...more, description })]);
}

const field = schema((z) => {
  const at = pointer().refine((text) => text !== '', 'must name a part of the record, like /address/city');
  return fieldOf(z, {
    sensitivity: z.enum(sensitivities).default('plain').describe('Who may see them.'),
    at: at.optional().describe('JSON pointer to the value in the record. Default: the name of the column.'),
  });
});

const addition = schema((z) => {
  const at = z.string().regex(/^[^/]/, 'must be the name of a field of the record, like Credit Score');
  const whoSees = 'Who may see them. Default personal; in bridges and links always secret.';
  const added = fieldOf(z, {
    sensitivity: z.enum(sensitivities).optional().describe(whoSees),
    at: at.optional().describe('Name of the field in the service. Default: the name of the column.'),
  });
  return z.strictObject({ add: z.record(columnKey(), added).describe('Type by column of further fields; or a map with more.') });
});

const declaration = schema((z) => {
  const column = columnKey();
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

function collectionShape(name: unknown) {
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

function additionShape({ name, fields, unknown }: Collection) {
  return addition().superRefine(({ add }, context) => {
    const known = new Map(Object.entries(fields).map(([column, field]) => [originalName(column, field), column]));
    for (const [column, given] of Object.entries(add)) {
      const refuse = (message: string, ...key: string[]) => context.addIssue({ code: 'custom', path: ['add', column, ...key], message });
      const { at = column, sensitivity = 'secret' } = typeof given === 'string' ? {} : given;
      const other = known.get(at);
      if (Object.hasOwn(fields, column)) refuse(`'${column}' is already a field of ${name}; choose another name`);
      else if (other !== undefined) refuse(`${JSON.stringify(at)} of ${name} is already the field '${other}'`, 'at');
      known.set(at, column);
      if (unknown === 'secret' && sensitivity !== 'secret')
        refuse(`a field added to ${name} is secret; leave sensitivity out, and name the field under reveal to use it`, 'sensitivity');
    }
  });
}

/** Returns the schema of a collection that a file declares, or to which it adds fields. */
export function declaredCollection(name: string): z.ZodType<Collection> {
  const standard = Object.hasOwn(collections, name) ? registryOf()[name] : undefined;
  if (standard) return additionShape(standard).transform((added) => extendedBy(standard, added));
  return collectionShape(name).transform((declared) => collectionOf(name, declared));
}

/** The collections of a file, by name; `declaredCollection` checks each of them. */
export const collectionsShape = schema((z) =>
  z
    .object(byName(collectionNames, () => addition()))
    .partial()
    .catchall(declaration()),
);

/** A field of a custom collection: its type, or an object with more details. */
export type FieldDeclaration<T extends DeclaredType = DeclaredType> =
  | T
  | {
      readonly type: T;
      /** Default `plain`. Of an added field: `personal`, and always `secret` in bridges and links. */
      readonly sensitivity?: Sensitivity;
      /** JSON pointer to the field in the record, like `/address/city`; of an added field its name. Default: the column name. */
      readonly at?: string;
      /** What the values mean, for the comments of outputs. */
      readonly description?: string;
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

/** The type of a collection with added fields. */
export type ExtendedCollection<N extends string, F extends Fields, U extends Sensitivity, A extends FieldDeclarations> = Collection<
  N,
  F & { readonly [K in keyof A]: Field<TypeOf<A[K]>, SensitivityOf<A[K], [U] extends ['secret'] ? 'secret' : 'personal'>> },
  U
>;

type SensitivityOf<D, Otherwise = 'plain'> = D extends { readonly sensitivity: infer S extends Sensitivity } ? S : Otherwise;

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

/**
 * Adds fields that a service has in addition to a collection, for `connect({ collections: [leads] })`. They are personal by default; in
 * bridges and links they are secret, and `reveal` includes them.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` for invalid fields, and for those that the collection already has.
 *
 * @example
 * const leads = extendCollection(collections.leads, { credit_score: { type: 'integer', at: 'Credit Score' } });
 * connect({ baseUrl, auth, collections: [leads] }).leads; // rows with credit_score
 */
export function extendCollection<
  const N extends string,
  const F extends Fields,
  const U extends Sensitivity,
  const A extends FieldDeclarations,
>(collection: Collection<N, F, U>, add: A & { readonly [K in keyof A & keyof F]: never }): ExtendedCollection<N, F, U, A> {
  const refuse = (problems: string) => wrongOption(`collection ${collection.name}: ${problems}`);
  // Valid additions create the fields of their type, but the type system cannot follow the map of fields.
  return extendedBy(collection, parsedBy(additionShape(collection), { add }, refuse)) as unknown as ExtendedCollection<N, F, U, A>;
}

function extendedBy(collection: Collection, { add }: z.output<ReturnType<typeof additionShape>>): Collection {
  const usual = collection.unknown === 'secret' ? 'secret' : 'personal';
  const added = Object.entries(add).map(([column, given]): [string, Field] => {
    const { at: original = column, sensitivity = usual, ...field } = typeof given === 'string' ? { type: given } : given;
    return [column, { ...field, sensitivity, original }];
  });
  return { ...collection, fields: { ...collection.fields, ...Object.fromEntries(added) } };
}

function collectionOf(name: string, declared: z.output<ReturnType<typeof collectionShape>>): Collection {
  const { path, key, rows = '', paging, query = {}, end = [], undeclared } = declared;
  const entries = Object.entries(declared.fields).map(([column, field]) => {
    const { sensitivity = 'plain', at = `/${column}`, ...own } = typeof field === 'string' ? { type: field } : field;
    return { column, segments: segmentsOf(at), own: { ...own, sensitivity } };
  });
  const fields = entries.map(({ column, segments, own }): [string, Field] => {
    const original = segments.join('.');
    return [column, { ...own, ...(original === column ? {} : { original }) }];
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
