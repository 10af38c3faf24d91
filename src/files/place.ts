import { readlinkSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, parse, sep } from 'node:path';

/**
 * Whether writing one output would write over or into the other, whatever links lead to them. An output that is a link itself is
 * replaced, so what it points to is another place.
 *
 * @param a Absolute path of a file, or of the link of a table, existing or not; `b` too.
 */
export function overlap(a: string, b: string): boolean {
  const [one, other] = [placeOf(a), placeOf(b)];
  return other.own.some((place) => one.passed.has(place)) || one.own.some((place) => other.passed.has(place));
}

interface Place {
  /** Everything that is the output's: its name, and the folder of its runs if it is a table. */
  readonly own: readonly string[];
  /** All names on the way to the output, those of links included, and its own. */
  readonly passed: ReadonlySet<string>;
}

/** The most links on one way, as Linux has it; what lies behind more cannot be written anyway. */
const maxLinks = 40;

/** Goes to a path as the system does. */
function placeOf(path: string): Place {
  const passed = new Set<string>();
  const { root } = parse(path);
  let rest = partsOf(path.slice(root.length)).map((name, index, { length }) => ({ name, last: index === length - 1 }));
  let at = root;
  let links = 0;
  let own: readonly string[] = [root];
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    const { name, last } = part;
    if (name === '..') {
      at = dirname(at);
      continue;
    }
    const here = join(at, name);
    passed.add(nameIn(at, name));
    if (last) own = [nameIn(at, name), nameIn(at, `.${name}.runs`)];
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
  return { own, passed };
}

function partsOf(path: string): readonly string[] {
  return path.split(sep).filter((part) => part !== '' && part !== '.');
}

/** A name in a folder that is told by its identity, since it can be mounted twice; `folder` has no links. */
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

/** Where a link points to; `undefined` for what is none, or cannot be looked at. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
