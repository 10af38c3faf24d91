import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { SinkError } from '../core/index.js';
import { attempt, errnoOf, unlessMissing } from './failure.js';
import { closing, linked, makeFolders, refuseLinks, removeFile, removeFolders, removeTemporaries } from './files.js';
import { setMode, sha256File, syncFolder, temporaryEnding, temporaryName } from './files.js';
import { inTurn } from './lock.js';
import {
  type FinishedFile,
  lostTo,
  type ObjectBody,
  type ObjectEntry,
  type ObjectStore,
  type ObjectSummary,
  type StoredObject,
} from './objects.js';
import { openRegular, readRegular } from './own.js';

/**
 * Objects as files below a folder of this machine. A file gets its name when it is complete and durable, and the version of an object is its digest.
 *
 * @param root Absolute path; the first write creates it.
 * @param mode Permissions of the files.
 */
export function diskObjects(root: string, mode = 0o600): ObjectStore {
  return new DiskObjects(root, mode);
}

class DiskObjects implements ObjectStore {
  constructor(
    readonly root: string,
    private readonly mode: number,
  ) {}

  async read(key: string): Promise<StoredObject | undefined> {
    const path = await this.#pathOf(key);
    const bytes = await attempt('E_SINK_WRITE', `cannot read ${path}`, () => readRegular(path).catch(unlessMissing(undefined)));
    return bytes && { bytes, version: digestOf(bytes) };
  }

  async find(key: string): Promise<ObjectSummary | undefined> {
    const path = await this.#pathOf(key);
    const found = await attempt('E_SINK_WRITE', `cannot access ${path}`, () => stat(path).catch(unlessMissing(undefined)));
    if (found === undefined) return undefined;
    const sha256 = await sha256File(path);
    return { bytes: found.size, sha256, version: sha256 };
  }

  async create(key: string, body: ObjectBody): Promise<string> {
    return this.#write(key, body, async (draft, path) => {
      if (!(await linked(draft, path))) throw lostTo(path);
    });
  }

  async replace(key: string, body: ObjectBody, version: string): Promise<string> {
    return inTurn(await this.#pathOf(key), 'replace', async () => {
      const found = await this.find(key);
      if (found?.version !== version) throw lostTo(join(this.root, key));
      return this.#write(key, body, rename);
    });
  }

  async put(key: string, body: string): Promise<void> {
    await this.#write(key, body, rename);
  }

  async upload(key: string, file: FinishedFile): Promise<void> {
    await this.#write(key, file, async (draft, path) => {
      if (!(await linked(draft, path)) && (await sha256File(path)) !== file.sha256) throw lostTo(path);
    });
  }

  async download(key: string, path: string): Promise<void> {
    const from = await this.#pathOf(key);
    await attempt('E_SINK_WRITE', `cannot copy ${from}`, () =>
      openRegular(from).then((file) => pipeline(file.createReadStream(), createWriteStream(path, { flags: 'wx', mode: 0o600 }))),
    );
  }

  async *list(prefix: string): AsyncIterable<ObjectEntry> {
    const folder = await this.#pathOf(prefix.slice(0, prefix.lastIndexOf('/') + 1));
    const entries = await attempt('E_SINK_WRITE', `cannot list ${folder}`, () =>
      readdir(folder, { recursive: true, withFileTypes: true }).catch(unlessMissing([])),
    );
    const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith(temporaryEnding));
    const keys = files.map(({ parentPath, name }) => relative(this.root, join(parentPath, name)).split(sep).join('/'));
    for (const key of keys.filter((each) => each.startsWith(prefix)).sort()) {
      const found = await attempt('E_SINK_WRITE', `cannot list ${folder}`, () =>
        stat(join(this.root, key)).catch(unlessMissing(undefined)),
      );
      if (found !== undefined) yield { key, bytes: found.size, modifiedAt: found.mtime };
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const path = await this.#pathOf(key);
      await attempt('E_SINK_WRITE', `cannot remove ${path}`, () => removeFile(path));
      await removeFolders(this.#foldersOf(path));
    }
  }

  async abortUploads(prefix: string): Promise<void> {
    const folder = await this.#pathOf(prefix.slice(0, prefix.lastIndexOf('/') + 1));
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
    for (const each of [folder, ...folders]) await removeTemporaries(each, () => true);
  }

  /** Writes a temporary file and gives it its name by `place`. @returns The digest. */
  async #write(key: string, body: ObjectBody, place: (draft: string, path: string) => Promise<void>): Promise<string> {
    const path = await this.#pathOf(key);
    return attempt('E_SINK_WRITE', `cannot write ${path}`, () => this.#written(path, body, place, maxAttempts));
  }

  async #written(path: string, body: ObjectBody, place: (draft: string, path: string) => Promise<void>, attempts: number): Promise<string> {
    await makeFolders(dirname(path), this.root);
    const draft = temporaryName(path);
    try {
      const sha256 = await drafted(draft, body, this.mode);
      await place(draft, path);
      await syncFolder(dirname(path));
      return sha256;
    } catch (thrown) {
      // Another process may have removed the folder as an empty one.
      if (errnoOf(thrown) !== 'ENOENT' || attempts === 1) throw thrown;
    } finally {
      await removeFile(draft);
    }
    return this.#written(path, body, place, attempts - 1);
  }

  /** Folders below the root down to that of a file. */
  #foldersOf(path: string): readonly string[] {
    const folder = dirname(path);
    return folder === this.root ? [] : [...this.#foldersOf(folder), folder];
  }

  async #pathOf(key: string): Promise<string> {
    const path = join(this.root, key);
    if (!`${path}/`.startsWith(`${this.root}/`)) throw new SinkError('E_SINK_FOREIGN', `${key} leads out of ${this.root}`);
    await refuseLinks(this.root, dirname(path));
    return path;
  }
}

const maxAttempts = 5;

async function drafted(draft: string, body: ObjectBody, mode: number): Promise<string> {
  if (typeof body === 'string') await writeFile(draft, body, { flag: 'wx', mode });
  else await linked(body.path, draft);
  await closing(await open(draft), async (file) => {
    await setMode(file, mode);
    await file.sync();
  });
  if (typeof body === 'string') return digestOf(body);
  if ((await sha256File(draft)) !== body.sha256) throw new SinkError('E_SINK_VERIFY', `${body.path} has changed since it was checked`);
  return body.sha256;
}

function digestOf(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
