import { parentPort } from 'node:worker_threads';
import type { Compression } from '../../engine.js';
import { encodeGroup } from './encode.js';
import type { GroupBytes } from './rows.js';

/** A request to the thread. The group's buffer is transferred. */
export interface EncodeRequest {
  readonly id: number;
  readonly group: GroupBytes;
  readonly compression: Compression;
}

/** The thread's answer, in order of the requests. Both buffers are transferred. */
export interface EncodedGroup {
  readonly id: number;
  /** The buffer of the request: as this thread's garbage it would be collected late. */
  readonly buffer: ArrayBuffer;
  /** Missing if the row group could not be encoded. */
  readonly file?: Uint8Array;
}

parentPort?.on('message', ({ id, group, compression }: EncodeRequest) => {
  const file = encoded(group, compression);
  const { buffer } = group.stream;
  const answer: EncodedGroup = file ? { id, buffer, file } : { id, buffer };
  parentPort?.postMessage(answer, file?.buffer instanceof ArrayBuffer ? [buffer, file.buffer] : [buffer]);
});

/** Drops the library's error message, which may contain values. */
function encoded(group: GroupBytes, compression: Compression): Uint8Array | undefined {
  try {
    return encodeGroup(group, compression);
  } catch {
    return undefined;
  }
}
