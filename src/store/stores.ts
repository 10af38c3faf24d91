import { checkStore, objectsAt, type StoreSettings } from './objects-at.js';
import type { ObjectStore, ObjectStores } from './objects.js';

/**
 * The stores that the sinks of a pipeline or a program share. Credentials come from where the AWS SDK finds them.
 *
 * @example
 * const stores = new Stores({ endpoint: 'http://localhost:9000' });
 * await writeTo(service.leads, csv({ path: 's3://lake/leads.csv' }, { stores }));
 */
export class Stores implements ObjectStores {
  readonly #opened = new Map<string, ObjectStore>();
  readonly #checked = new Map<ObjectStore, Promise<void>>();

  constructor(private readonly settings: StoreSettings = {}) {}

  at(root: string, mode?: number): ObjectStore {
    const store = this.#opened.get(root) ?? objectsAt(root, this.settings, mode);
    this.#opened.set(root, store);
    return store;
  }

  above(path: string): { readonly store: ObjectStore; readonly key: string } {
    const end = path.lastIndexOf('/');
    return { store: this.at(path.slice(0, end)), key: path.slice(end + 1) };
  }

  check(store: ObjectStore): Promise<void> {
    const checked = this.#checked.get(store) ?? checkStore(store, this.settings);
    this.#checked.set(store, checked);
    return checked;
  }
}
