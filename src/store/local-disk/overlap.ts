import { readlinkSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, parse, sep } from 'node:path';

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

interface Place {
  /** Returns whether a place belongs to the output: its name, or one of the names that leadstream uses next to it. */
  owns(place: string): boolean;
  /** All names on the way to the output, including those of links, and its own. */
  readonly passed: ReadonlySet<string>;
}

/** The most links on one path, as in Linux; anything beyond cannot be written anyway. */
const maxLinks = 40;

/** Resolves a path as the system does. */
function placeOf(path: string): Place {
  const passed = new Set<string>();
  const { root } = parse(path);
  let rest = partsOf(path.slice(root.length)).map((name, index, { length }) => ({ name, last: index === length - 1 }));
  let at = root;
  let links = 0;
  let owns: Place['owns'] = (place) => place === root;
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    const { name, last } = part;
    if (name === '..') {
      at = dirname(at);
      continue;
    }
    const here = join(at, name);
    passed.add(nameIn(at, name));
    if (last) owns = ownedBy(at, name);
    const target = last ? undefined : linkAt(here);
    if (target === undefined || links === maxLinks) {
      at = here;
      continue;
    }
    links += 1;
    const start = isAbsolute(target) ? parse(target).root : '';
    if (start !== '') at = start;
    rest = [...partsOf(target.slice(start.length)).map((step) => ({ name: step, last: false })), ...rest];
  }
  return { owns, passed };
}

/** Returns whether something that belongs to one output is on the way to the other, or is the other. */
function takes(one: Place, other: Place): boolean {
  return [...other.passed].some((place) => one.owns(place));
}

function ownedBy(folder: string, name: string): Place['owns'] {
  const [itself, hidden] = [nameIn(folder, name), nameIn(folder, `.${name}.`)];
  return (place) => place === itself || (place.startsWith(hidden) && hiddenEnding.test(place.slice(hidden.length)));
}

/** What follows `.<name>.`: the runs of a table and those that a gate refused, locks, and files being written. */
const hiddenEnding = /^(?:runs|failed|lock(?:-[^/]+\.lock)?|[\w-]+\.partial)$/;

function partsOf(path: string): readonly string[] {
  return path.split(sep).filter((part) => part !== '' && part !== '.');
}

/** Returns a key for a name in a folder. The folder is identified by device and inode, since it can be mounted twice. `folder` contains no links. */
function nameIn(folder: string, name: string): string {
  return `${identityOf(folder)}${sep}${name}`;
}

function identityOf(folder: string): string {
  try {
    const { dev, ino } = statSync(folder);
    return `${dev}:${ino}`;
  } catch {
    return dirname(folder) === folder ? folder : nameIn(dirname(folder), basename(folder));
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
