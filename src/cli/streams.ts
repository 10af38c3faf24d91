import { SinkError, reasonOf } from '../core/index.js';

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
