import { SinkError } from '../core/index.js';
import { localDisk } from './local-disk/local-disk.js';
import { schemeOf } from './scheme.js';
import type { Commit, Store } from './store.js';

/** All stores. To add one for files, add a folder next to `local-disk` and list the store here. */
export const stores: readonly Store[] = [localDisk];

/** The names of stores that redo logs may contain. */
export const storeNames = stores.map(({ name }) => name);

/** Returns the store with a name from a redo log; `undefined` if it is unknown here. */
export function storeNamed(name: string): Store | undefined {
  return stores.find((store) => store.name === name);
}

/** Returns the store for the scheme of a path; `undefined` if there is none. */
export function storeAt(path: string): Store | undefined {
  const scheme = schemeOf(path);
  return stores.find((store) => store.scheme === scheme);
}

/**
 * Returns the store that contains all outputs of a commit.
 *
 * @throws {SinkError} `E_SINK_PATH` if they are not all in one store, since a commit is never carried out in two places.
 */
export function storeOf(outputs: readonly string[]): Store {
  const found = new Set(outputs.map(storeAt));
  const [store = localDisk] = found;
  if (found.size > 1 || found.has(undefined)) throw new SinkError('E_SINK_PATH', `there is no store for all of ${outputs.join(', ')}`);
  return store;
}

/** Returns whether writing one destination would write over or into the other; never for destinations in different stores. */
export function overlap(a: string, b: string): boolean {
  const store = storeAt(a);
  return store !== undefined && store === storeAt(b) && store.overlap(a, b);
}

/**
 * Carries out a commit without a redo log: if it is interrupted, nothing completes it.
 *
 * @throws {SinkError} As `Store.prepare` and `PreparedCommit.commit`.
 */
export async function commitUnlogged(commit: Commit): Promise<void> {
  const prepared = await storeOf(commit.outputs).prepare(commit);
  await prepared.commit();
}
