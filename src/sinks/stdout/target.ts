import { printable, SinkError } from '../../core/index.js';
import { attempt, errnoOf } from '../../store/index.js';
import type { Piece, TextTarget } from '../text-sink.js';

/**
 * Thrown when the reader of standard output has gone away, as `head` does. The code is `E_SINK_WRITE`.
 *
 * @example
 * await writeTo(service.leads, stdout()).catch((error: unknown) => {
 *   if (!(error instanceof ClosedPipeError)) throw error; // who reads has seen enough
 * });
 */
export class ClosedPipeError extends SinkError {
  /** @internal */
  static override readonly name: string = 'ClosedPipeError';
}

/**
 * Writes to a stream. `append` resolves when the stream has accepted the text, so a reader may pause as long as it likes. On a terminal control characters are
 * shown as escapes, so that no value can control it; otherwise the text is unchanged.
 *
 * @throws {ClosedPipeError} by `append`, if the reader is gone.
 */
export function streamTarget(stream: NodeJS.WritableStream & { readonly isTTY?: boolean }, at: string): TextTarget {
  const utf8 = new TextDecoder();
  const shown = (piece: Piece) => {
    const text = typeof piece === 'string' ? piece : utf8.decode(piece, { stream: true });
    return text.split('\n').map(printable).join('\n');
  };
  let bytes = 0;
  // Failures are reported through the callback of each write; an `error` event without a listener would end the process.
  if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore);
  return {
    get bytes() {
      return bytes;
    },
    async append(piece) {
      await attempt('E_SINK_WRITE', `${at}: cannot write`, async () => {
        const failure = await new Promise<Error | null | undefined>(
          (resolve) => void stream.write(stream.isTTY ? shown(piece) : piece, resolve),
        );
        if (failure && closed.has(errnoOf(failure) ?? '')) throw new ClosedPipeError('E_SINK_WRITE', `${at}: the reader closed the pipe`);
        if (failure) throw failure;
      });
      bytes += Buffer.byteLength(piece);
    },
    prepare: () =>
      Promise.resolve({
        actions: () => Promise.resolve([]),
        cleanup: () => Promise.resolve(),
        quarantine: () => Promise.resolve(undefined),
      }),
    abort: () => Promise.resolve(),
  };
}

const closed = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

function ignore(): void {}
