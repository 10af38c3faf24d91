import { join } from 'node:path';
import { SinkError } from '../core/index.js';
import type { Action } from './commit.js';
import { attempt, undoing } from './failure.js';
import { lostTo, type ObjectStores, unversioned, writeOnce } from './objects.js';
import { PartialFile, reserveFile } from './partial-file.js';
import { isRemote } from './paths.js';
import { ScratchFolder } from './scratch.js';

export interface OutputFileOptions {
  readonly runId: string;
  /** Permissions of a file on this machine. */
  readonly mode?: number;
  readonly stores: ObjectStores;
  /** Private folder where a store's file is finished. */
  readonly scratch: string;
}

/** A file that a run writes. On this machine, an action commits it; on a store, it commits by itself, in one conditional request. */
export interface OutputFile extends Pick<PartialFile, 'append' | 'close' | 'discard'> {
  /** Known once it is closed. */
  readonly actions: readonly Action[];
  /** Publishes a closed file on a store, once. @throws {LeadstreamError} `E_RUN_LOCKED` if another writer was faster. */
  commit?(): Promise<void>;
}

/** Reserves an output, as `reserveFile` does. On a store, reads the version that the commit will replace. */
export async function openOutput(path: string, { runId, mode, stores, scratch }: OutputFileOptions): Promise<OutputFile> {
  if (!isRemote(path)) return reserveFile(path, runId, mode);
  const { store, key } = stores.above(path);
  const version = (await store.find(key))?.version;
  if (version === '') throw unversioned(path);
  const folder = await attempt('E_SINK_PATH', `cannot write in ${scratch}`, () => ScratchFolder.open(scratch));
  const file = await PartialFile.open(join(folder.path, 'upload'), path).catch(undoing(() => folder.remove()));
  let isCommitted = false;
  return {
    actions: [],
    async append(data) {
      await file.append(data);
      if (file.bytes > maxBytes) throw new SinkError('E_SINK_WRITE', `${path} would be larger than 5 GB; write a Parquet table instead`);
    },
    close: () => file.close(),
    async commit() {
      if (isCommitted) return;
      if ((await writeOnce(store, key, { path: file.path, ...file.content }, version)) === undefined) throw lostTo(path);
      isCommitted = true;
      await folder.remove();
    },
    async discard() {
      await file.discard();
      await folder.remove();
    },
  };
}

/** The most that S3 accepts in one request. */
const maxBytes = 5_000_000_000;
