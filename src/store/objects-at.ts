import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { SinkError } from '../core/index.js';
import { DiskObjects } from './disk-objects.js';
import { unlessLocked } from './failure.js';
import { type ObjectStore, type ObjectStores, ownFolder, unversioned } from './objects.js';
import { isRemote } from './paths.js';
import { S3Objects, type StoreSettings } from './s3.js';

/** Returns the store of a path: `s3://…`, or a folder of this machine. @throws {SinkError} `E_SINK_CONFIG`. */
export function objectsAt(path: string, settings: StoreSettings = {}, mode?: number, signal?: AbortSignal): ObjectStore {
  return isRemote(path) ? new S3Objects(path, settings, undefined, signal) : new DiskObjects(resolve(path), mode);
}

/**
 * Checks that a place can be used. On first use, the store has to honour both conditions; an object that says so remains.
 * @throws {SinkError} `E_SINK_PATH`, also if the store overwrites what another run wrote, or gives no ETag.
 */
export async function checkStore(store: ObjectStore, { single_writer = false }: StoreSettings = {}): Promise<void> {
  if (single_writer) return;
  const found = await store.read(probe);
  if (found?.version === '') throw unversioned(`${store.root}/${probe}`);
  if (found !== undefined) return;
  const key = `${probe}.${randomUUID()}`;
  let refused: boolean;
  try {
    refused = await refusesBoth(store, key);
  } finally {
    // A user without the right to delete can still write.
    await store.remove([key]).catch(() => undefined);
  }
  if (refused) return store.put(probe, JSON.stringify({ conditions: 'honoured', at: new Date().toISOString() }));
  const fault = 'the store overwrites in spite of If-None-Match and If-Match, so runs could destroy the work of others';
  throw new SinkError('E_SINK_PATH', `cannot use ${store.root}: ${fault}; if only one runs at a time, set single_writer: true`);
}

const probe = `${ownFolder}probe.json`;

async function refusesBoth(store: ObjectStore, key: string): Promise<boolean> {
  const first = await store.create(key, '1');
  await store.replace(key, '2', first);
  for (const write of [() => store.create(key, '3'), () => store.replace(key, '4', first)])
    if ((await write().catch(unlessLocked)) !== undefined) return false;
  return true;
}

/**
 * The stores that the sinks of a pipeline or program share, and the signal that stops them. The AWS SDK finds the credentials.
 *
 * @example
 * const stores = new Stores({ endpoint: 'http://localhost:9000' });
 * await writeTo(service.leads, csv({ path: 's3://lake/leads.csv' }, { stores }));
 */
export class Stores implements ObjectStores {
  readonly #opened = new Map<string, ObjectStore>();
  readonly #checked = new Map<ObjectStore, Promise<void>>();

  constructor(
    private readonly settings: StoreSettings = {},
    private readonly signal?: AbortSignal,
  ) {}

  at(root: string, mode?: number): ObjectStore {
    const store = this.#opened.get(root) ?? objectsAt(root, this.settings, mode, this.signal);
    this.#opened.set(root, store);
    return store;
  }

  above(path: string): { readonly store: ObjectStore; readonly key: string } {
    const end = path.lastIndexOf('/');
    return { store: this.at(path.slice(0, end) || '/'), key: path.slice(end + 1) };
  }

  check(store: ObjectStore): Promise<void> {
    const checked = this.#checked.get(store) ?? checkStore(store, this.settings);
    this.#checked.set(store, checked);
    return checked;
  }
}
