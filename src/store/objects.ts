import type { FileContent } from './commit.js';

/** An object as it was read. */
export interface StoredObject {
  readonly bytes: Buffer;
  /** Changes with every write: an ETag. */
  readonly version: string;
}

export interface ObjectEntry {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedAt: Date;
}

/** A finished local file, which no longer changes. */
export interface FinishedFile extends FileContent {
  readonly path: string;
}

/**
 * Objects below a place, by keys such as `data/RUN/part-00000.parquet`: a prefix of a bucket, or a folder of this machine. What was written whole is read whole;
 * nobody sees a part of an object. `test/system/store/objects.test.ts` is the contract.
 *
 * Reading, `upload`, `list` and `remove` are repeated when they fail for a moment. `create` and `replace` are one attempt each: if one rejects, what became of
 * it is undecided, and the caller has to read the object to find out.
 *
 * @throws {SinkError} From every method: `E_SINK_PATH` when the place cannot be used (missing, no permission, expired credentials), `E_SINK_WRITE` otherwise.
 */
export interface ObjectStore {
  /** The place, without a slash at the end: `s3://bucket/lake/leads`, `/srv/lake/leads`. */
  readonly root: string;
  /** Returns `undefined` for a missing object, never for one that may not be read. */
  read(key: string): Promise<StoredObject | undefined>;
  /** Creates an object that must not exist, in one attempt. @returns Its version. */
  create(key: string, body: string): Promise<string>;
  /** Replaces the object that has a version, in one attempt. @returns The new version. */
  replace(key: string, body: string, version: string): Promise<string>;
  /** Replaces an object, whatever it is, or creates it. Only for hints. */
  put(key: string, body: string): Promise<void>;
  /** Creates an object from a file, which stays. An object of that key with the same content counts as created. */
  upload(key: string, file: FinishedFile): Promise<void>;
  /** Copies an object to a local file that does not exist yet. */
  download(key: string, path: string): Promise<void>;
  /** Lists the objects whose keys begin with a prefix, in the order of keys. */
  list(prefix: string): AsyncIterable<ObjectEntry>;
  /** Removes objects; missing ones are fine. */
  remove(keys: readonly string[]): Promise<void>;
}

/**
 * Creates an object that others may be creating as well, and finds out who did. The body must be unique, as by a nonce.
 *
 * @returns `taken` if the object is that of someone else.
 */
export async function createOnce(store: ObjectStore, key: string, body: string): Promise<'created' | 'taken'> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      await store.create(key, body);
      return 'created';
    } catch (failure) {
      const found = await store.read(key);
      if (found !== undefined) return found.bytes.equals(Buffer.from(body)) ? 'created' : 'taken';
      if (attempts === maxAttempts) throw failure;
    }
  }
}

/** Attempts at something that left no trace. */
const maxAttempts = 4;
