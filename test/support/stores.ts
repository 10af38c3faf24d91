import { type ObjectStore, Stores } from '../../src/store/index.js';

/** What is done in the place of a call of a store, which `call` makes. */
export type Instead = (call: () => Promise<unknown>, key: string) => Promise<unknown>;

/** A store that does something else in the place of some of its calls. */
export function around(store: ObjectStore, names: readonly (keyof ObjectStore)[], instead: Instead): ObjectStore {
  return new Proxy(store, {
    get: (_, name: keyof ObjectStore) => {
      const method: unknown = store[name];
      if (typeof method !== 'function') return method;
      const call = (...args: readonly unknown[]) => Reflect.apply(method, store, args) as Promise<unknown>;
      return names.includes(name) ? (...args: readonly unknown[]) => instead(() => call(...args), String(args[0])) : call;
    },
  });
}

/** Stores that do so. */
export function storesAround(names: readonly (keyof ObjectStore)[], instead: Instead): Stores {
  const stores = new Stores();
  const at = stores.at.bind(stores);
  stores.at = (root, mode) => around(at(root, mode), names, instead);
  return stores;
}
