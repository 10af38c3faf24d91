import { copyFile, open, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, unlessMissing } from './failure.js';
import { closing, linked, makeFolders, refuseLinks, removeFile } from './files.js';
import { setMode, sha256File, syncFolder, temporaryName } from './files.js';
import { inTurn } from './lock.js';
import { type FinishedFile, isFile, lostTo, type ObjectBody, type ObjectEntry, type ObjectStore, ownFolder, sha256Of } from './objects.js';
import { readRegular } from './own.js';

/**
 * Objects as files below a folder of this machine. A file gets its name when it is complete and durable; the version of an object is its digest.
 * Empty folders stay, since another run may be about to write there.
 */
export class DiskObjects implements ObjectStore {
  /**
   * @param root Absolute path; the first write creates it.
   * @param mode Permissions of the files. Default: those of the file that is replaced, or of a table that is there; otherwise they are private.
   */
  constructor(
    readonly root: string,
    private readonly mode?: number,
  ) {}

  async read(key: string) {
    const path = await this.pathOf(key);
    const bytes = await attempt('E_SINK_WRITE', `cannot read ${path}`, () => readRegular(path).catch(unlessMissing(undefined)));
    return bytes && { bytes, version: await sha256Of(bytes) };
  }

  async find(key: string) {
    const found = await this.read(key);
    return found && { bytes: found.bytes.length, version: found.version, sha256: found.version };
  }

  create(key: string, body: ObjectBody): Promise<string> {
    return this.#write(key, body, async (draft, path) => {
      if (!(await linked(draft, path))) throw lostTo(path);
    });
  }

  async replace(key: string, body: ObjectBody, version: string): Promise<string> {
    const path = await this.pathOf(key);
    return inTurn(path, 'replace', async () => {
      if ((await this.read(key))?.version !== version) throw lostTo(path);
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
    const from = await this.pathOf(key);
    await attempt('E_SINK_WRITE', `cannot copy ${from}`, () => copyFile(from, path));
  }

  async *list(prefix: string): AsyncIterable<ObjectEntry> {
    for (const path of await this.#filesBelow(prefix)) {
      if (draftEnding.test(path) || basename(path).startsWith('.')) continue;
      const found = await stat(path).catch(unlessMissing(undefined));
      if (found !== undefined) yield { key: relative(this.root, path).replaceAll(sep, '/'), bytes: found.size };
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const path = await this.pathOf(key);
      await attempt('E_SINK_WRITE', `cannot remove ${path}`, () => removeFile(path));
    }
  }

  async abortUploads(prefix: string): Promise<void> {
    for (const path of await this.#filesBelow(prefix)) if (draftEnding.test(path)) await removeFile(path);
  }

  /** Returns the path of an object. @throws {SinkError} `E_SINK_FOREIGN` for a link in the way. */
  async pathOf(key: string): Promise<string> {
    const path = join(this.root, key);
    if (path !== this.root && !path.startsWith(join(this.root, sep)))
      throw new SinkError('E_SINK_FOREIGN', `${key} leads out of ${this.root}`);
    await refuseLinks(this.root, dirname(path));
    return path;
  }

  /** Sorted paths. */
  async #filesBelow(prefix: string): Promise<readonly string[]> {
    const folder = await this.pathOf(dirname(`${prefix}.`));
    const entries = await attempt('E_SINK_WRITE', `cannot list ${folder}`, () =>
      readdir(folder, { recursive: true, withFileTypes: true }).catch(unlessMissing([])),
    );
    const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    return paths.filter((path) => path.startsWith(join(this.root, prefix))).sort();
  }

  /** Writes a draft, and has it placed. @returns Its digest. */
  async #write(key: string, body: ObjectBody, place: (draft: string, path: string) => Promise<void>): Promise<string> {
    const path = await this.pathOf(key);
    const mode = this.mode ?? (await this.#modeOf(path));
    await makeFolders(dirname(path), this.root, mode);
    const draft = temporaryName(path);
    return attempt('E_SINK_WRITE', `cannot write ${path}`, async () => {
      try {
        if (!isFile(body)) await writeFile(draft, body, { flag: 'wx', mode });
        else await linked(body.path, draft);
        await closing(await open(draft), async (file) => {
          await setMode(file, mode);
          await file.sync();
        });
        const sha256 = await sha256Of(body, draft);
        await place(draft, path);
        await syncFolder(dirname(path));
        return sha256;
      } finally {
        await removeFile(draft);
      }
    });
  }

  async #modeOf(path: string): Promise<number> {
    const missing = unlessMissing(undefined);
    const found = (await stat(path).catch(missing)) ?? (await stat(join(this.root, ownFolder)).catch(missing));
    return (found?.mode ?? 0o600) & 0o666;
  }
}

/** Ending of what `temporaryName` returns. */
const draftEnding = /\.[0-9a-f]{16}\.tmp$/;
