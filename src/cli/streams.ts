import { SinkError, reasonOf } from '../core/index.js';

/**
 * Keeps a reader of stdout or stderr that goes away, or a disk behind them that is full, from ending the process. Whoever writes
 * data learns it from the write itself; of messages that nobody takes there is nobody to tell.
 */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/**
 * Writes text on stdout. A reader that has had enough, as `head` has, is no failure.
 *
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function print(stdout: NodeJS.WritableStream, text: string): Promise<void> {
  if (text === '') return;
  const failure = await new Promise<Error | null | undefined>((done) => void stdout.write(text, done));
  if (!failure || ('code' in failure && failure.code === 'EPIPE')) return;
  throw new SinkError('E_SINK_WRITE', `stdout: ${reasonOf(failure)}`);
}

/** Resolves when what was written to a stream has left this process, or never will because nobody reads it any more. */
export async function flushed(stream: NodeJS.WritableStream): Promise<void> {
  await new Promise<void>((done) => void stream.write('', () => done()));
}
