import { lstat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { SinkError } from '../../core/index.js';

/**
 * Checks that something is unchanged since it was checked, which may be several gigabytes ago.
 *
 * @param destination Where it is to be committed, for the message.
 * @throws {SinkError} `E_SINK_VERIFY`.
 */
export async function refuseChanged(before: Stats, path: string, destination: string): Promise<void> {
  const now = await lstat(path);
  if (before.dev === now.dev && before.ino === now.ino && before.size === now.size && before.mtimeMs === now.mtimeMs) return;
  throw new SinkError('E_SINK_VERIFY', `cannot commit ${destination}: ${path} has changed since it was checked`);
}
