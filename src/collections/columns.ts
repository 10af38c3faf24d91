import { LeadstreamError, unknownName, type Column } from '../core/index.js';
import type { Collection, Field, RowOf, SecretsOf } from './define.js';

/** The name that the service uses for a column. */
export function originalName(column: string, field: Field): string {
  return field.original ?? column;
}

/**
 * The columns of a collection as the client delivers them, in the order of the service's document.
 *
 * @param reveal Names of secret columns that are wanted all the same.
 * @throws {LeadstreamError} `E_USAGE` for arguments of another kind, and for names of no field.
 *
 * @example
 * columnsOf(collections.users); // [{ name: 'uid', original: 'uid', type: 'text', sensitivity: 'plain', … }, …]
 */
export function columnsOf<C extends Collection>(collection: C, reveal: readonly FieldOf<C>[] = []): readonly Column[] {
  refuseOthers('columnsOf', collection, reveal);
  return deliveredColumns(collection, reveal);
}

type FieldOf<C extends Collection> = keyof C['fields'] & string;

/** The same of names that somebody else has to judge: those of no field reveal nothing. */
export function deliveredColumns(collection: Collection, reveal: readonly string[] = []): readonly Column[] {
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

function refuseOthers(at: string, collection: unknown, reveal: unknown): void {
  const refuse = (message: string) => new LeadstreamError('E_USAGE', `${at}: ${message}`);
  if (typeof collection !== 'object' || collection === null || !('fields' in collection))
    throw refuse('the first argument must be a collection, like collections.leads');
  // A text has parts, too, and would reveal each field whose name is one.
  if (!Array.isArray(reveal) || !reveal.every((name) => typeof name === 'string')) throw refuse('reveal must be a list of field names');
  const known = Object.keys(collection.fields ?? {});
  const unknown = reveal.find((name) => !known.includes(name));
  if (unknown !== undefined) throw refuse(`reveal: ${unknownName('field', unknown, known)}`);
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
 * @throws {LeadstreamError} As `columnsOf`.
 *
 * @example
 * for await (const lead of service.leads.pipe(cast(typesOf(collections.leads)))) console.log(lead.timestamp?.toISOString());
 */
export function typesOf<C extends Collection, const Revealed extends keyof SecretsOf<C> & string = never>(
  collection: C,
  reveal: readonly Revealed[] = [],
): TypesOf<C, Revealed> {
  refuseOthers('typesOf', collection, reveal);
  // The columns are those of the fields, which the type system cannot follow through the map of them.
  return Object.fromEntries(deliveredColumns(collection, reveal).map(({ name, type }) => [name, type])) as TypesOf<C, Revealed>;
}
