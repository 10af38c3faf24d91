import { originalName, type Collection } from '../../collections/index.js';

/** A row of a file under the service's own field names. */
export type TextRow = Readonly<Record<string, string>>;

/**
 * Returns a function that maps a header to the name that the service uses.
 *
 * @example
 * originalNames(leads)('lead_accepted'); // 'LEAD ACCEPTED'
 * originalNames(leads)('shoe size'); // 'shoe size'
 */
export function originalNames(collection: Collection): (header: string) => string {
  const names = new Map(Object.entries(collection.fields).map(([column, field]) => [column, originalName(column, field)]));
  return (header) => names.get(header) ?? header;
}
