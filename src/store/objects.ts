import { setTimeout as wait } from 'node:timers/promises';
import { LeadstreamError, reasonOf, SinkError, stoppedBy } from '../core/index.js';
import { isLocked, reworded } from './failure.js';
import { sha256File, sha256Text } from './files.js';

/** What leadstream keeps of a table, in all formats. Readers ignore names that begin with an underscore. */
export const ownFolder = '_leadstream/';

/** An object as it was read. */
export interface StoredObject {
  readonly bytes: Buffer;
  /** Changes with every write: an ETag. Empty if the store gives none, so that two of them say nothing about each other. */
  readonly version: string;
}

/** What is known of an object without reading it. */
export interface ObjectSummary {
  readonly bytes: number;
  readonly version: string;
  /** SHA-256 in hexadecimal, as its writer computed it; `undefined` for an object of another program. */
  readonly sha256: string | undefined;
}

export interface ObjectEntry {
  readonly key: string;
  readonly bytes: number;
}

/** Size and digest of a file. */
export interface FileContent {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** A finished local file, which no longer changes. */
export interface FinishedFile extends FileContent {
  readonly path: string;
}

/** A text, bytes, or a local file of at most 5 GB. */
export type ObjectBody = string | Buffer | FinishedFile;

export function isFile(body: ObjectBody): body is FinishedFile {
  return typeof body !== 'string' && !Buffer.isBuffer(body);
}

/**
 * Objects below a place, by keys such as `data/RUN/part-00000.parquet`: a prefix of a bucket, or a folder of this machine. Nobody sees a part
 * of an object. `test/contracts/objects.ts` is the contract.
 *
 * Reading, `upload`, `list` and `remove` are repeated when they fail for a moment. `create` and `replace` are one attempt each: after a rejection
 * its outcome is unknown, and the caller has to read the object.
 *
 * @throws {SinkError} From every method: `E_SINK_PATH` when the place cannot be used (missing, no permission, expired credentials), `E_SINK_WRITE` otherwise.
 * @throws {LeadstreamError} `E_RUN_LOCKED` from those that write, if the store refuses because the object is there already, or is another one by now.
 */
export interface ObjectStore {
  /** The place, without a slash at the end: `s3://bucket/lake/leads`, `/srv/lake/leads`. */
  readonly root: string;
  /** Stops the run: file transfers end at once, other requests soon, and nothing is attempted again. */
  readonly signal?: AbortSignal | undefined;
  /** Returns `undefined` for a missing object, never for one that may not be read. */
  read(key: string): Promise<StoredObject | undefined>;
  /** Looks an object up without reading it, where the store can; `undefined` as for `read`. */
  find(key: string): Promise<ObjectSummary | undefined>;
  /** Creates an object that must not exist, in one attempt. @returns Its version. */
  create(key: string, body: ObjectBody): Promise<string>;
  /** Replaces the object that has a version, in one attempt; one without is refused. @returns The new version. */
  replace(key: string, body: ObjectBody, version: string): Promise<string>;
  /** Replaces an object, whatever it is, or creates it. Only for hints. */
  put(key: string, body: string): Promise<void>;
  /** Creates an object from a file of any size, which stays. An object of that key with the same content counts as created. */
  upload(key: string, file: FinishedFile): Promise<void>;
  /** Copies an object to a local file that does not exist yet. */
  download(key: string, path: string): Promise<void>;
  /** Lists the objects whose keys begin with a prefix, in the order of keys. */
  list(prefix: string): AsyncIterable<ObjectEntry>;
  /** Removes objects; missing ones are fine. */
  remove(keys: readonly string[]): Promise<void>;
  /** Removes what interrupted uploads below a prefix left in the store. */
  abortUploads(prefix: string): Promise<void>;
}

export function lostTo(object: string): LeadstreamError {
  return new LeadstreamError('E_RUN_LOCKED', `${object} was written by something else while this run worked, and stays as it is`);
}

/** A conditional write needs a version. */
export function unversioned(object: string): SinkError {
  const fault = `the store gives no ETag of ${object}, so a write could destroy another run's`;
  return new SinkError('E_SINK_PATH', `${fault}; if only one runs at a time, set single_writer: true`);
}

/** The stores that a run uses. */
export interface ObjectStores {
  /** @param root Path of a table, or of a folder of objects. @param mode Permissions of files on this machine; the first call for a root counts. */
  at(root: string, mode?: number): ObjectStore;
  /** Returns the store of the folder of an object, and its key there. */
  above(path: string): { readonly store: ObjectStore; readonly key: string };
  /** Checks, once, that a store can be written to. @throws {SinkError} `E_SINK_PATH`. */
  check(store: ObjectStore): Promise<void>;
}

/**
 * Creates an object, or replaces the version that was read, and finds out what became of it. The same body from another writer counts as ours, unless it has a nonce.
 *
 * @param version `undefined` if there was none.
 * @returns The new version; `undefined` if someone else was faster.
 */
export async function writeOnce(store: ObjectStore, key: string, body: ObjectBody, version?: string): Promise<string | undefined> {
  if (version === '') throw unversioned(`${store.root}/${key}`);
  const write = () => (version === undefined ? store.create(key, body) : store.replace(key, body, version));
  return decided(store, `${store.root}/${key}`, write, async () => {
    const found = await store.find(key);
    if (found?.sha256 === (isFile(body) ? body.sha256 : await sha256Of(body))) return found.version;
    return found?.version === version ? 'no trace' : undefined;
  });
}

type LookUp<T> = (failure: unknown) => Promise<T | 'no trace'>;

/** Attempts a write until its outcome is known, or the run is stopped. An earlier attempt may be the reason for a refusal, so the look-up decides whether another writer won. */
export async function decided<T>({ signal }: ObjectStore, object: string, write: () => Promise<T>, lookUp: LookUp<T>): Promise<T> {
  for (let attempts = 1, failure: unknown; ; attempts += 1) {
    try {
      return await write();
    } catch (thrown) {
      if (failure === undefined || !isLocked(thrown)) failure = thrown;
    }
    const giveUp = (thrown: unknown) => {
      if (isLocked(thrown)) throw thrown;
      const reason = isLocked(failure) ? thrown : failure;
      const message = `${reasonOf(reason)}; it is not known whether ${object} was written`;
      throw signal?.aborted ? stoppedBy(signal, message) : reworded(reason, message);
    };
    const found = await lookUp(failure).catch(giveUp);
    if (found !== 'no trace') return found;
    if (attempts === maxAttempts && !signal?.aborted) throw failure;
    await wait(Math.random() * 2 ** attempts * 250, undefined, { signal }).catch(giveUp);
  }
}

/** Number of attempts if none leaves a trace. */
const maxAttempts = 4;

/** Returns the SHA-256 of a body; a file, or a copy of it, is read again. @throws {SinkError} `E_SINK_VERIFY` if it is not what was finished. */
export async function sha256Of(body: ObjectBody, copy?: string): Promise<string> {
  if (!isFile(body)) return sha256Text(body);
  if ((await sha256File(copy ?? body.path)) === body.sha256) return body.sha256;
  throw new SinkError('E_SINK_VERIFY', `${body.path} has changed since it was checked`);
}
