import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { attempt } from './failure.js';

/**
 * The SHA-256 of a file's contents in hexadecimal, read in chunks.
 *
 * @throws {SinkError} `E_SINK_WRITE` when the file cannot be read back.
 */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash('sha256');
  await attempt('E_SINK_WRITE', `cannot read back ${path}`, () => pipeline(createReadStream(path), hash));
  return hash.digest('hex');
}
