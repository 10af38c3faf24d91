import { limitReached, SinkError } from '../../../core/index.js';
import { defaultThreads, Thread, threadFile, warnOfNoThread } from '../../../threads/index.js';
import type { Compression } from '../../engine.js';
import type { TakenBytes } from './row-bytes.js';
import type { Answer, Request } from './encoding-worker.js';

/** Encodes row groups as Parquet files, here or in the thread. */
export interface GroupEncoding {
  /** Makes the thread load what it needs while the first row group is filled. */
  start(): void;
  /**
   * Encodes a row group as a Parquet file of its own. With a thread, the buffer of the group is transferred, and taken back before this resolves.
   *
   * @throws {SinkError} `E_SINK_WRITE`.
   */
  encode(group: TakenBytes, compression: Compression): Promise<Uint8Array>;
  /** Ends the thread, unless others use it. Requests still open then fail. May be called more than once. */
  close(): Promise<void>;
}

const workerFile = threadFile(() => new URL('./encoding-worker.cjs', import.meta.url));

/** @param threads 1 for the thread. If none is possible, the process emits a warning, and row groups are encoded here. */
export function groupEncoding(threads: number = defaultThreads(workerFile)): GroupEncoding {
  if (threads === 0) return inThisThread;
  const file = workerFile;
  if (file === undefined) {
    warnOfNoThread('encoding-worker.cjs');
    return inThisThread;
  }
  let thread: EncodingThread | undefined;
  const leased = () => (thread ??= EncodingThread.lease(file));
  return {
    start: () => void leased(),
    encode: (group, compression) => leased().encode(group, compression),
    close: async () => {
      const ended = thread;
      thread = undefined;
      await ended?.release();
    },
  };
}

const inThisThread: GroupEncoding = {
  start: () => undefined,
  encode: async (group, compression) => {
    // 5 MB of WebAssembly, which is otherwise loaded by the thread.
    const { encodeGroup } = await import('./encode.js');
    try {
      return encodeGroup(group, compression);
    } catch (thrown) {
      throw limitReached(thrown) ?? refused();
    }
  },
  close: async () => undefined,
};

/** The single thread of a process that encodes row groups, in order of arrival. It starts with the first lease and ends with the last. */
class EncodingThread {
  static #shared: EncodingThread | undefined;

  readonly #thread: Thread<Answer>;
  #leases = 0;

  private constructor(file: URL) {
    this.#thread = new Thread(file, 'leadstream-parquet');
  }

  static lease(file: URL): EncodingThread {
    const shared = EncodingThread.#shared;
    if (shared && shared.#thread.ended) EncodingThread.#shared = undefined;
    const thread = (EncodingThread.#shared ??= new EncodingThread(file));
    thread.#leases += 1;
    return thread;
  }

  async release(): Promise<void> {
    this.#leases -= 1;
    if (this.#leases > 0) return;
    if (EncodingThread.#shared === this) EncodingThread.#shared = undefined;
    await this.#thread.end();
  }

  encode(group: TakenBytes, compression: Compression): Promise<Uint8Array> {
    const { stream, plain } = group;
    return new Promise((resolve, reject) => {
      const asking = {
        answered: ({ buffer, file }: Answer) => {
          group.takeBack(buffer);
          if (file) resolve(file);
          else reject(refused());
        },
        lost: (reason: string, cause: unknown) =>
          reject(limitReached(cause) ?? new SinkError('E_SINK_WRITE', `the thread that encodes Parquet ended: ${reason}`)),
      };
      this.#thread.ask(asking, (id): Request => ({ id, group: { stream, plain }, compression }), [stream.buffer]);
    });
  }
}

function refused(): SinkError {
  return new SinkError('E_SINK_WRITE', 'the engine arrow could not encode a row group');
}
