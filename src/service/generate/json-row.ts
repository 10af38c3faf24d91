import { originalName, type Collection } from '../../collections/index.js';

/** A row in which every field of the collection has a text. */
export type FullRow<C extends Collection> = { readonly [K in keyof C['fields']]: string };

/**
 * A writer of rows as JSON text under the service's own field names, in the order of its document.
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

/** What `JSON.stringify` escapes inside a string, lone surrogates apart, which the generator never makes. */
const escapable = /["\\\u0000-\u001f]/;
