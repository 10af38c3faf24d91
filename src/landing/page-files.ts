import { createHash } from 'node:crypto';
import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, replaceFile, temporaryEnding } from '../files/index.js';
import { markerName } from './marker.js';

/** Names of page files: page number, length in bytes, head of the SHA-256 of the contents. */
const pageName = /^page-(\d{7,})\.(\d+)\.([0-9a-f]{32})\.json$/;

/**
 * The page files of one source. Holds a name per page.
 *
 * Errors are those of the system; `Landing` gives them words.
 */
export class PageFiles {
  #damaged = 0;

  private constructor(
    private readonly folder: string,
    private readonly durable: boolean,
    private readonly names: Map<number, string>,
  ) {}

  /** Looks through a folder and removes what killed runs left half-written. */
  static async open(folder: string, durable: boolean): Promise<PageFiles> {
    const files = new PageFiles(folder, durable, new Map());
    for (const name of await readdir(folder)) {
      if (isRubbish(name)) await rm(join(folder, name), { force: true });
      const number = pageName.exec(name)?.[1];
      if (number !== undefined) await files.#find(Number(number), name);
    }
    return files;
  }

  /** Pages at hand. */
  get count(): number {
    return this.names.size;
  }

  /** Pages that did not read back as they were written, and were removed. */
  get damaged(): number {
    return this.#damaged;
  }

  /** The highest page number at hand. */
  last(): number | undefined {
    let last: number | undefined;
    for (const page of this.names.keys()) if (last === undefined || page > last) last = page;
    return last;
  }

  /** The contents of a page; `undefined` when it is not at hand, or was damaged. */
  async read(page: number): Promise<Uint8Array | undefined> {
    const name = this.names.get(page);
    if (name === undefined) return undefined;
    const body = await readFile(join(this.folder, name)).catch((thrown: unknown) => {
      if (!lost.has(errnoOf(thrown) ?? '')) throw thrown;
      return undefined;
    });
    if (body !== undefined && nameOfPage(page, body) === name) return body;
    await this.#discard(page, name);
    return undefined;
  }

  /** Stores a page, in the place of an earlier one of that number. */
  async write(page: number, body: Uint8Array): Promise<void> {
    const name = nameOfPage(page, body);
    const earlier = this.names.get(page);
    // The earlier one goes first, see `#find`.
    if (earlier !== undefined && earlier !== name) await this.#remove(page, earlier);
    await replaceFile(join(this.folder, name), body, { mode: 0o600, durable: this.durable });
    this.names.set(page, name);
  }

  /** Removes all pages. */
  async clear(): Promise<void> {
    for (const [page, name] of this.names) await this.#remove(page, name);
  }

  /** Two files of one number cannot be told apart, so neither counts. */
  async #find(page: number, name: string): Promise<void> {
    const other = this.names.get(page);
    this.names.set(page, name);
    if (other === undefined) return;
    for (const each of [other, name]) await this.#discard(page, each);
  }

  async #discard(page: number, name: string): Promise<void> {
    this.#damaged += 1;
    await this.#remove(page, name);
  }

  async #remove(page: number, name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
    if (this.names.get(page) === name) this.names.delete(page);
  }
}

/** Removes the folder of a source with all files of ours; the folder stays when it holds anything else. */
export async function removeSource(folder: string): Promise<void> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (errnoOf(thrown) === 'ENOENT') return [];
    throw thrown;
  });
  // The marker goes last, so that what an interrupted removal leaves still has an age.
  for (const name of [...names.filter((name) => pageName.test(name) || isRubbish(name)), markerName])
    await rm(join(folder, name), { force: true });
  await rmdir(folder).catch(() => undefined);
}

/** A bad sector is as good as no file; a lack of file handles or of rights is another matter. */
const lost: ReadonlySet<string> = new Set(['ENOENT', 'EIO']);

function isRubbish(name: string): boolean {
  return name.endsWith(temporaryEnding) && (name.startsWith('page-') || name.startsWith(markerName));
}

function nameOfPage(page: number, body: Uint8Array): string {
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 32);
  return `page-${String(page).padStart(7, '0')}.${body.byteLength}.${digest}.json`;
}
