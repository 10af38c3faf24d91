import type { Column } from '../core/index.js';
import type { Collection, Field, RowOf, SecretsOf } from './define.js';

/** The name that the service uses for a column. */
export function originalName(column: string, field: Field): string {
  return field.original ?? column;
}

/**
 * The columns of a collection as the client delivers them, in the order of the service's document.
 *
 * @param reveal Names of secret columns that are wanted all the same.
 *
 * @example
 * columnsOf(collections.users); // [{ name: 'uid', original: 'uid', type: 'text', sensitivity: 'plain', … }, …]
 */
export function columnsOf<C extends Collection>(collection: C, reveal: readonly (keyof C['fields'] & string)[] = []): readonly Column[] {
  const withheld = withheldOf(collection, reveal);
  return Object.entries(collection.fields)
    .filter(([name]) => !withheld.includes(name))
    .map(([name, field]) => ({
      name,
      original: originalName(name, field),
      type: field.type,
      cast: false,
      sensitivity: field.sensitivity,
      source: name,
    }));
}

/** The columns of a collection that the client withholds: those that are secret and not revealed. */
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
 * The declared types of all fields of a collection, for `cast`, which gives rows of `TypedRowOf` then.
 *
 * @param reveal Names of secret columns that the rows have all the same.
 *
 * @example
 * for await (const lead of service.leads.pipe(cast(typesOf(collections.leads)))) console.log(lead.timestamp?.toISOString());
 */
export function typesOf<C extends Collection, const Revealed extends keyof SecretsOf<C> & string = never>(
  collection: C,
  reveal: readonly Revealed[] = [],
): TypesOf<C, Revealed> {
  // The columns are those of the fields, which the type system cannot follow through the map of them.
  return Object.fromEntries(columnsOf(collection, reveal).map(({ name, type }) => [name, type])) as TypesOf<C, Revealed>;
}
