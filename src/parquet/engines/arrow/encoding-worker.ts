import { parentPort } from 'node:worker_threads';
import type { Compression } from '../../storage.js';
import { encodeGroup } from './encode.js';
import type { GroupBytes } from './row-bytes.js';

/** What the thread is asked. The buffer of the group moves there. */
export interface Request {
  readonly id: number;
  readonly group: GroupBytes;
  readonly compression: Compression;
}

/** What it answers, in the order of the requests. Both buffers move. */
export interface Answer {
  readonly id: number;
  /** The one that came with the group: as garbage of this thread it would wait long for being collected. */
  readonly buffer: ArrayBuffer;
  /** Missing when the row group could not be encoded. */
  readonly file?: Uint8Array;
}

parentPort?.on('message', ({ id, group, compression }: Request) => {
  const file = encoded(group, compression);
  const { buffer } = group.stream;
  const answer: Answer = file ? { id, buffer, file } : { id, buffer };
  parentPort?.postMessage(answer, file?.buffer instanceof ArrayBuffer ? [buffer, file.buffer] : [buffer]);
});

/** What the library says of a failure may hold values, so it is not passed on. */
function encoded(group: GroupBytes, compression: Compression): Uint8Array | undefined {
  try {
    return encodeGroup(group, compression);
  } catch {
    return undefined;
  }
}
