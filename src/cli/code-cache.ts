import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';

/**
 * Code that V8 compiled, kept in files for later processes. What is in them gets executed, so a file or folder that belongs to somebody else, or that others
 * can write to, is not used: a shared folder may be named, and root may run with the home folder of a user.
 */
export class CodeCache {
  readonly #parent: string;
  readonly #folder: string;

  /**
   * @param base An existing folder, such as `~/.cache`.
   * @param verb Name of the folder within it: each command uses other functions.
   */
  constructor(base: string, verb: string) {
    this.#parent = join(base, 'leadstream');
    this.#folder = join(this.#parent, verb);
  }

  /** Returns what was written under a name, if it is intact: V8 would accept damaged data. */
  read(name: string): Buffer | undefined {
    try {
      if (!this.#isOwn()) return undefined;
      const bytes = readOwn(join(this.#folder, name));
      if (bytes === undefined) return undefined;
      const data = bytes.subarray(digestBytes);
      return digestOf(name, data).equals(bytes.subarray(0, digestBytes)) ? data : undefined;
    } catch {
      return undefined;
    }
  }

  /** Writes a file and removes old ones. A failure is ignored: the next process compiles again. */
  write(name: string, data: Buffer): void {
    const partial = join(this.#folder, `${name}.${process.pid}.partial`);
    try {
      make(this.#parent);
      make(this.#folder);
      if (!this.#isOwn()) return;
      writeFileSync(partial, Buffer.concat([digestOf(name, data), data]), { mode: 0o600, flag: 'wx' });
      renameSync(partial, join(this.#folder, name));
      this.#removeOld();
    } catch {
      remove(partial);
    }
  }

  #isOwn(): boolean {
    return [this.#parent, this.#folder].map((path) => lstatSync(path)).every((found) => found.isDirectory() && isOwn(found));
  }

  /** Removes what earlier versions and killed processes left behind. */
  #removeOld(): void {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      if (nameForm.test(name) && Date.now() - lstatSync(path).mtimeMs > maxAgeMs) rmSync(path);
    }
  }
}

/** Returns the name of a script's file: the code fits one version of Node and one text of the script, of which V8 compares only the length. */
export function cacheName(script: string, source: Uint8Array): string {
  return `${script}-${process.version}-${createHash('sha256').update(source).digest('hex').slice(0, 32)}`;
}

const nameForm = /^[a-z]+\.cjs-v\d+\.\d+\.\d+[\w.-]*-[\da-f]{32}(?:\.\d+\.partial)?$/;
const digestBytes = 32;
const maxAgeMs = 30 * 24 * 60 * 60 * 1_000;

/** Creates a folder. Its parents are not created: Node never returns from that in a folder like `/proc/1`. */
function make(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It exists, or will be found missing.
  }
}

function remove(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It cannot have been created.
  }
}

/** Reads a file of this user; a link or a device is not followed or waited for. */
function readOwn(path: string): Buffer | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    return found.isFile() && isOwn(found) ? readFileSync(file) : undefined;
  } finally {
    closeSync(file);
  }
}

function isOwn({ uid, mode }: Stats): boolean {
  const user = process.geteuid?.();
  return user === undefined || (uid === user && (mode & 0o022) === 0);
}

function digestOf(name: string, data: Uint8Array): Buffer {
  return createHash('sha256').update(name).update(data).digest();
}
