import { originalName, type Collection } from '../../collections/index.js';

/** A row with a text for every field of the collection. */
export type FullRow<C extends Collection> = { readonly [K in keyof C['fields']]: string };

/**
 * Returns a writer of rows as JSON text under the service's own field names, in the order of its documentation.
 *
 * @example
 * rowWriter(users)({ uid: '7', email: 'a@example.com', affid: '1' }); // '{"uid":"7","email":"a@example.com","affid":"1"}'
 */
export function rowWriter<C extends Collection>(collection: C): (row: FullRow<C>) => string {
  const columns = Object.entries(collection.fields).map(([column, field], index): { column: keyof C['fields']; opening: string } => ({
    column,
    opening: `${index === 0 ? '{' : '",'}${JSON.stringify(originalName(column, field))}:"`,
  }));
  return (row) => {
    let text = '';
    for (const { column, opening } of columns) {
      const value = row[column];
      text += opening + (escapable.test(value) ? JSON.stringify(value).slice(1, -1) : value);
    }
    return `${text}"}`;
  };
}

/** Matches what `JSON.stringify` escapes inside a string, except lone surrogates, which the generator never makes. */
const escapable = /["\\\u0000-\u001f]/;
