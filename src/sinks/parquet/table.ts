import { lstat, readdir, readlink, rm, rmdir, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SinkError } from '../../errors.js';
import { attempt, errnoOf, type Move } from '../../files/index.js';
import { partName, readManifest, type Manifest } from './manifest.js';

/**
 * The folders of a table `lake/leads`, and what is in them after each step:
 *
 * | after | `lake/leads` | `lake/.leads.runs/NEW/` | `lake/.leads.runs/OLD/` |
 * | --- | --- | --- | --- |
 * | writing | -> OLD | `part-00000-NEW.parquet.partial` | `part-00000-OLD.parquet`, `_manifest.json` |
 * | publication prepared | -> OLD | also `_manifest.json.partial` and `_link` | same |
 * | moves: parts, manifest | -> OLD | `part-00000-NEW.parquet`, `_manifest.json`, `_link` | same |
 * | move: link | -> NEW | `part-00000-NEW.parquet`, `_manifest.json` | same |
 * | moves: retirement | -> NEW | same | `part-00000-OLD.parquet.kept`, `_manifest.json` |
 * | settled | -> NEW | same | same; the runs before OLD are gone |
 *
 * Parts of a kept run lose the ending `.parquet`, because `lake/**\/*.parquet` looks into hidden folders and would read
 * its rows a second time. Readers that go through `lake/leads` see one run at any moment; such a glob can see both between
 * the moves of the new parts and the retirement, a few milliseconds.
 *
 * One run at a time works on a table: the caller holds its lock.
 */
export class Table {
  readonly runs: string;
  readonly folder: string;

  /** @param path Absolute path of the link. */
  constructor(
    readonly path: string,
    readonly runId: string,
  ) {
    this.runs = join(dirname(path), `.${basename(path)}.runs`);
    this.folder = join(this.runs, runId);
  }

  /**
   * The run that the link points to; `undefined` when there is none yet.
   *
   * @throws {SinkError} `E_SINK_FOREIGN` when something stands there that is neither a link of ours nor an empty folder.
   */
  async published(): Promise<string | undefined> {
    const found = await attempt('E_SINK_PATH', `cannot read ${this.path}`, () =>
      lstat(this.path).catch((thrown: unknown) => {
        if (errnoOf(thrown) === 'ENOENT') return undefined;
        throw thrown;
      }),
    );
    if (found === undefined) return undefined;
    if (found.isSymbolicLink()) {
      const target = await readlink(this.path);
      if (dirname(target) === basename(this.runs) && safeName.test(basename(target))) return basename(target);
    }
    if (found.isDirectory() && (await readdir(this.path)).length === 0) return undefined;
    throw new SinkError('E_SINK_FOREIGN', `cannot replace ${this.path}: it is ${kindOf(found)} that leadstream did not make`);
  }

  /** Removes folders of runs that were killed before they had a manifest, unless they contain anything but our names. */
  async removeDeadRuns(): Promise<void> {
    for (const run of await this.#runIds()) {
      const folder = join(this.runs, run);
      const names = await list(folder);
      if (names.includes(manifestName) || !names.every((name) => isOurs(name, run))) continue;
      await removeRun(folder, names);
    }
  }

  /** The link that will replace the published one, made beside the parts. It points to nothing until it is moved. */
  async makeLink(): Promise<Move> {
    const from = join(this.folder, linkName);
    await attempt('E_SINK_WRITE', `cannot make the link ${from}`, () => symlink(join(basename(this.runs), this.runId), from));
    return { from, to: this.path };
  }

  /** The renames after which no glob finds the parts of a run any more. */
  async retirement(run: string | undefined): Promise<readonly Move[]> {
    if (run === undefined) return [];
    const folder = join(this.runs, run);
    const listed = (await readManifest(join(folder, manifestName)))?.files ?? [];
    const present = new Set(await list(folder));
    return listed
      .filter(({ name }) => present.has(name))
      .map(({ name }) => ({ from: join(folder, name), to: join(folder, name + keptEnding) }));
  }

  /** Removes every run with a manifest except those named; only files that its manifest lists, and the folder if it is then empty. */
  async prune(keep: readonly (string | undefined)[]): Promise<void> {
    for (const run of await this.#runIds()) {
      if (keep.includes(run)) continue;
      const folder = join(this.runs, run);
      const manifest = await readManifest(join(folder, manifestName));
      if (manifest) await removeRun(folder, filesOf(manifest));
    }
  }

  async #runIds(): Promise<readonly string[]> {
    return (await list(this.runs)).filter((name) => safeName.test(name));
  }
}

export const manifestName = '_manifest.json';
export const partialEnding = '.partial';
export const linkName = '_link';
const keptEnding = '.kept';
const safeName = /^[\w-]+$/;

function isOurs(name: string, run: string): boolean {
  if (name === linkName || name === manifestName + partialEnding) return true;
  const part = name.endsWith(partialEnding) ? name.slice(0, -partialEnding.length) : name;
  return partName.test(part) && part.endsWith(`-${run}.parquet`);
}

/** The manifest goes last, so that an interrupted removal can be repeated. */
function filesOf({ files }: Manifest): readonly string[] {
  return [...files.flatMap(({ name }) => [name, name + keptEnding]), manifestName];
}

async function removeRun(folder: string, names: readonly string[]): Promise<void> {
  await attempt('E_SINK_WRITE', `cannot remove the old run ${folder}`, async () => {
    for (const name of names) await rm(join(folder, name), { force: true });
    await rmdir(folder).catch(() => undefined);
  });
}

async function list(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

function kindOf(found: { isSymbolicLink(): boolean; isDirectory(): boolean }): string {
  if (found.isSymbolicLink()) return 'a link';
  return found.isDirectory() ? 'a folder with files' : 'a file';
}
