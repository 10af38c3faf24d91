import { collectionNames, collections, type CollectionName } from '../../src/collections/index.js';
import { byName } from '../../src/core/index.js';
import type { DataSource } from '../../src/service/index.js';

type Records = readonly Readonly<Record<string, unknown>>[];

/** The lists of a service, by collection; they may be replaced while it runs. */
export type Lists = Partial<Record<CollectionName, Records>>;

/** Serves lists that change from night to night, at the same address. */
export function changing(lists: Lists): DataSource {
  const table = (name: CollectionName): DataSource[CollectionName] => {
    const [key = ''] = collections[name].key;
    return {
      get count() {
        return lists[name]?.length ?? 0;
      },
      row: (index) => JSON.stringify(lists[name]?.[index]),
      find: (id) => (lists[name] ?? []).flatMap((row, index) => (row[key] === id ? [index] : [])),
    };
  };
  return byName(collectionNames, table);
}
