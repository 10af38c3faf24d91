import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

/**
 * Returns whether writing one output would write over or into the other, or into a file that leadstream has next to it (`.<name>.lock` and so on), through any
 * links. An output that is itself a link is not followed: the link of a table is replaced, any other is refused.
 *
 * @param a Absolute path of a file, or of the link of a table, existing or not; the same applies to `b`.
 */
export function pathsOverlap(a: string, b: string): boolean {
  const [one, other] = [placeOf(a), placeOf(b)];
  return takes(one, other) || takes(other, one);
}

function placeOf(path: string): string {
  return join(realOf(dirname(path)), basename(path));
}

/** Returns whether a place is that of an output, is inside it, or has a name that belongs to it. */
function takes(output: string, place: string): boolean {
  if (place === output || place.startsWith(output + sep)) return true;
  const hidden = join(dirname(output), `.${basename(output)}.`);
  const [name = ''] = place.slice(hidden.length).split(sep);
  return place.startsWith(hidden) && hiddenEnding.test(name);
}

/** What follows `.<name>.`: the runs of a table and those that a gate refused, locks, and files being written. */
const hiddenEnding = /^(?:runs|failed|lock(?:-[^/]+\.lock)?|[\w-]+\.partial)$/;

/** The most links on one path, as in Linux; anything beyond cannot be written anyway. */
const maxLinks = 40;

/** Resolves the links of a path that need not exist, nor what its links point to. */
function realOf(path: string, links = 0): string {
  try {
    return realpathSync(path);
  } catch {
    if (dirname(path) === path) return path;
    const folder = realOf(dirname(path), links);
    const target = links < maxLinks ? linkAt(path) : undefined;
    return target === undefined ? join(folder, basename(path)) : realOf(resolve(folder, target), links + 1);
  }
}

/** Returns the target of a link; `undefined` if the path is not a link or cannot be read. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
