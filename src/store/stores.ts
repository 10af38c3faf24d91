import { SinkError } from '../core/index.js';
import { localDisk } from './local-disk/local-disk.js';
import { schemeOf } from './scheme.js';
import type { Commit, Store } from './store.js';

/** All stores. Another one for files is a folder beside `local-disk`, and its name here. */
export const stores: readonly Store[] = [localDisk];

/** The names that redo logs can have. */
export const storeNames = stores.map(({ name }) => name);

/** The store of a name in a redo log; `undefined` for one that is not known here. */
export function storeNamed(name: string): Store | undefined {
  return stores.find((store) => store.name === name);
}

/** The store that the scheme of a path picks; `undefined` when there is none. */
export function storeAt(path: string): Store | undefined {
  const scheme = schemeOf(path);
  return stores.find((store) => store.scheme === scheme);
}

/**
 * The store in which all outputs of a commit live.
 *
 * @throws {SinkError} `E_SINK_PATH` when it is not one, since no commit is carried out in two places.
 */
export function storeOf(outputs: readonly string[]): Store {
  const found = new Set(outputs.map(storeAt));
  const [store = localDisk] = found;
  if (found.size > 1 || found.has(undefined)) throw new SinkError('E_SINK_PATH', `there is no store for all of ${outputs.join(', ')}`);
  return store;
}

/** Whether writing one destination would write over or into the other; never when they live in different stores. */
export function overlap(a: string, b: string): boolean {
  const store = storeAt(a);
  return store !== undefined && store === storeAt(b) && store.overlap(a, b);
}

/**
 * Carries out a commit that no redo log knows of: when it is interrupted, nobody completes it.
 *
 * @throws {SinkError} As `Store.prepare` and `PreparedCommit.commit`.
 */
export async function commitUnlogged(commit: Commit): Promise<void> {
  const prepared = await storeOf(commit.outputs).prepare(commit);
  await prepared.commit();
}
