import { SinkError } from '../core/index.js';
import { localDisk } from './local-disk/local-disk.js';
import type { Commit, Store } from './store.js';

/** All stores. To add one for files, add a folder next to `local-disk` and list the store here. */
export const stores: readonly Store[] = [localDisk];

/** A word and `://`, or `:/` unless it is one letter; and what is known as a scheme, whatever follows. A file of such a name is written as `./s3:x`. */
const scheme =
  /^(?:[a-z][a-z\d+.-]*:(?=\/\/)|[a-z][a-z\d+.-]+:(?=\/)|(?:s3[an]?|gs|gcs|r2|az|abfss?|adl|wasbs?|hdfs|https?|ftps?|sftp|file|oss|dbfs):)/i;

/** Returns the scheme of a path, such as `s3:`; `undefined` for one of this machine. */
export function schemeOf(path: string): string | undefined {
  return scheme.exec(path)?.[0];
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
