import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { SinkError } from '../../../../errors.js';
import { errnoOf } from '../../../../files/index.js';
import type { Compression } from '../../encoder.js';
import type { TakenBytes } from './row-bytes.js';
import type { Answer, Request } from './worker.js';

/** Makes Parquet files of row groups, here or in the thread. */
export interface GroupEncoding {
  /**
   * Encodes a row group as a Parquet file that has no other. With a thread, the buffer of the group moves there, and is taken back before this resolves.
   *
   * @throws {SinkError} `E_SINK_WRITE`.
   */
  encode(group: TakenBytes, compression: Compression): Promise<Uint8Array>;
  /** Ends the thread, unless others use it; what they do not have by then fails. May be called more than once. */
  close(): Promise<void>;
}

/** Beside this module there is none when it runs from its TypeScript source, or in a bundle; it encodes here then. */
const workerFile = new URL('./worker.js', import.meta.url);

/** @param threads 1 for the thread, if there can be one. */
export function groupEncoding(threads: number): GroupEncoding {
  if (threads === 0 || !existsSync(workerFile)) return inThisThread;
  let thread: EncodingThread | undefined;
  return {
    encode: (group, compression) => {
      thread ??= EncodingThread.lease();
      return thread.encode(group, compression);
    },
    close: async () => {
      const leased = thread;
      thread = undefined;
      await leased?.release();
    },
  };
}

const inThisThread: GroupEncoding = {
  encode: async (group, compression) => {
    // 5 MB of WebAssembly, which the thread loads otherwise.
    const { encodeGroup } = await import('./encode.js');
    try {
      return encodeGroup(group, compression);
    } catch {
      throw refused();
    }
  },
  close: async () => undefined,
};

interface Waiting {
  readonly group: TakenBytes;
  readonly resolve: (file: Uint8Array) => void;
  readonly reject: (failure: SinkError) => void;
}

/**
 * The one thread of a process that encodes row groups, in the order in which they come. It starts with the first lease and ends with the
 * last, and keeps the process alive only while it works.
 */
class EncodingThread {
  static #shared: EncodingThread | undefined;

  // The options of this process (--eval, --input-type, --inspect) are none of the thread's, and some let it fail.
  readonly #worker = new Worker(workerFile, { name: 'leadstream-parquet', execArgv: [] });
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #leases = 0;
  #failure: SinkError | undefined;

  private constructor() {
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#answer(answer));
    this.#worker.on('messageerror', (thrown: unknown) => this.#fail(thrown));
    this.#worker.on('error', (thrown: unknown) => this.#fail(thrown));
    this.#worker.on('exit', () => this.#fail(undefined));
  }

  static lease(): EncodingThread {
    const thread = (EncodingThread.#shared ??= new EncodingThread());
    thread.#leases += 1;
    return thread;
  }

  async release(): Promise<void> {
    this.#leases -= 1;
    if (this.#leases > 0) return;
    if (EncodingThread.#shared === this) EncodingThread.#shared = undefined;
    await this.#worker.terminate();
  }

  encode(group: TakenBytes, compression: Compression): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      this.#asked += 1;
      this.#waiting.set(this.#asked, { group, resolve, reject });
      this.#worker.ref();
      const { stream, plain } = group;
      const request: Request = { id: this.#asked, group: { stream, plain }, compression };
      this.#worker.postMessage(request, [stream.buffer]);
    });
  }

  #answer({ id, buffer, file }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref();
    waiting?.group.takeBack(buffer);
    if (file) waiting?.resolve(file);
    else waiting?.reject(refused());
  }

  /** Whoever waits is told, and so is whoever still asks; the next lease gets a new thread. */
  #fail(thrown: unknown): void {
    if (EncodingThread.#shared === this) EncodingThread.#shared = undefined;
    this.#failure ??= new SinkError('E_SINK_WRITE', `the thread that encodes Parquet ended: ${errnoOf(thrown) ?? 'it was stopped'}`);
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}

function refused(): SinkError {
  return new SinkError('E_SINK_WRITE', 'the engine arrow could not encode a row group');
}
