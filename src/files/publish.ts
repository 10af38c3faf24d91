import { lstat, readlink, rename, rmdir, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SinkError } from '../errors.js';
import { attempt, errnoOf } from './failure.js';
import { syncFolder } from './folders.js';

/** One rename of a publication. `to` is replaced in one step; for a table it is the link. Absolute paths. */
export interface Move {
  readonly from: string;
  readonly to: string;
  /** What the link at `from` points to, when it is one: there is something at `to` before and after, and this tells them apart. */
  readonly link?: string | undefined;
}

/**
 * Does the renames of a publication in their order, and makes them durable.
 *
 * It can be repeated after an interruption: a move whose `from` is gone while `to` is there was done before. A link that is gone
 * without having arrived is made again. An empty folder at `to` gives way, since a rename does not replace one.
 *
 * @throws {SinkError} `E_SINK_WRITE`; the moves before the one named are done.
 */
export async function publish(moves: readonly Move[]): Promise<void> {
  for (const one of moves) await attempt('E_SINK_WRITE', `cannot publish ${one.to}`, () => move(one));
  const folders = new Set(moves.flatMap(({ from, to }) => [dirname(from), dirname(to)]));
  for (const folder of folders) {
    await attempt('E_SINK_WRITE', `cannot publish in ${folder}`, () => syncFolder(folder));
  }
}

async function move({ from, to, link }: Move): Promise<void> {
  try {
    await rename(from, to);
  } catch (thrown) {
    const code = errnoOf(thrown);
    if (code === 'ENOENT' && link !== undefined) {
      if ((await readlink(to).catch(() => undefined)) === link) return;
      await symlink(link, from);
      return await rename(from, to);
    }
    if (code === 'ENOENT') {
      if (await exists(to)) return;
      throw new SinkError('E_SINK_WRITE', `cannot publish ${to}: ENOENT: neither it nor ${from} is there`);
    }
    if (code !== 'EISDIR') throw thrown;
    await rmdir(to);
    await rename(from, to);
  }
}

/** Whether there is something of that name, be it a link to nothing. */
async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
