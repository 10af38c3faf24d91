import { resolve } from 'node:path';
import { diskObjects } from './disk-objects.js';
import { checkConditions, type ObjectStore } from './objects.js';
import { isRemote } from './paths.js';
import { s3Objects, type S3Settings } from './s3.js';

/** Where a place is, as far as its scheme needs it. */
export interface StoreSettings extends S3Settings {
  /** Accepts a store that overwrites objects in spite of conditions. */
  readonly single_writer?: boolean | undefined;
}

/** Returns the store of a path: `s3://…`, or a folder of this machine. @throws {SinkError} `E_SINK_CONFIG`. */
export function objectsAt(path: string, settings: StoreSettings = {}, mode?: number): ObjectStore {
  return isRemote(path) ? s3Objects(path, settings) : diskObjects(resolve(path), mode);
}

/**
 * Checks that a place can be used, and on its first use that the store honours conditions. For what writes, before any other work.
 *
 * @throws {SinkError} `E_SINK_PATH`.
 */
export async function checkStore(store: ObjectStore, { single_writer = false }: StoreSettings = {}): Promise<void> {
  const known = await store.read(probeKey);
  if (known === undefined && !single_writer) await checkConditions(store, probeKey);
}

const probeKey = '_leadstream/probe.json';
