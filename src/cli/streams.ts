import { SinkError, reasonOf } from '../core/index.js';

/**
 * Keeps the process alive when a reader of stdout or stderr goes away, or the disk they write to is full. Code that writes data gets the error from the write
 * itself; a lost message has no one to report to.
 */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/**
 * Writes text to stdout. A reader that has had enough, like `head`, is not an error.
 *
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function print(stdout: NodeJS.WritableStream, text: string): Promise<void> {
  if (text === '') return;
  const failure = await new Promise<Error | null | undefined>((done) => void stdout.write(text, done));
  if (!failure || ('code' in failure && failure.code === 'EPIPE')) return;
  throw new SinkError('E_SINK_WRITE', `stdout: ${reasonOf(failure)}`);
}

/** Resolves when everything written to a stream has left this process, or never will because its reader is gone. */
export async function flushed(stream: NodeJS.WritableStream): Promise<void> {
  await new Promise<void>((done) => void stream.write('', () => done()));
}
