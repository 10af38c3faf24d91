import { collectionNames, type CollectionName } from '../../src/collections/index.js';
import { byName } from '../../src/core/index.js';
import type { DataSource } from '../../src/service/index.js';

type Records = readonly Readonly<Record<string, unknown>>[];

/** What a service serves, by collection; the lists may be replaced while it runs. */
export type Lists = Partial<Record<CollectionName, Records>>;

/** Serves lists that change from night to night, under one and the same address. */
export function changing(lists: Lists): DataSource {
  const table = (name: CollectionName): DataSource[CollectionName] => ({
    get count() {
      return lists[name]?.length ?? 0;
    },
    row: (index) => JSON.stringify(lists[name]?.[index]),
    find: () => [],
  });
  return byName(collectionNames, table);
}
