import type { Column } from '../core/index.js';
import type { Collection, Field } from './define.js';

/** The name that the service uses for a column. */
export function originalName(column: string, field: Field): string {
  return field.original ?? column;
}

/**
 * The columns of a collection as the client delivers them, in the order of the service's document.
 *
 * @param reveal Names of secret columns that are wanted all the same.
 */
export function columnsOf(collection: Collection, reveal: readonly string[] = []): readonly Column[] {
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
