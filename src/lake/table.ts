import { lstat, readdir, readlink, rmdir, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import {
  attempt,
  notOurFolder,
  makeFolders,
  openTo,
  refuseLinks,
  type LinkAction,
  type RenameAction,
  removeFile,
  runsOf,
  unlessMissing,
} from '../store/index.js';
import { dataFileName, isRepeated, loadManifest, type Manifest } from './manifest.js';

export const successName = '_SUCCESS';
export const partialEnding = '.partial';
export const keptEnding = '.kept';
const manifestEnding = '.manifest.json';
const keysEnding = '.keys.bin';
const linkEnding = '.link';

/** Endings of the files next to the folder of a run, in the order in which they are removed. */
const besideEndings = [linkEnding, keysEnding + partialEnding, keysEnding, manifestEnding + partialEnding, manifestEnding];
const besideRun = /\.(?:link|(?:keys\.bin|manifest\.json)(?:\.partial)?)$/;

/**
 * The parts of a table `lake/leads`, and the files after each step. `NEW` stands for `lake/.leads.runs/NEW`, and so on:
 *
 * | after | `lake/leads` | of NEW | of OLD | a kill here is repaired by |
 * | --- | --- | --- | --- | --- |
 * | writing | -> OLD | `NEW/part-00000-NEW.parquet.partial` | `OLD/part-00000-OLD.parquet`, `OLD.manifest.json` | the next run, which removes NEW |
 * | verified, gates passed, prepared | -> OLD | also `NEW.manifest.json.partial`, `NEW.link`, in `NEW/` hard links `*.parquet.partial` of retained files | same | the next run, which removes NEW |
 * | commit logged (`<state-dir>/redo-log`) | -> OLD | same | same | the next run or `run --recover`, which carries out all actions below |
 * | renames: data files, `_SUCCESS`, keys, manifest | -> OLD | `NEW/part-00000-NEW.parquet`, `NEW.manifest.json`, `NEW.link` | same | same |
 * | link | -> NEW | without `NEW.link` | same | same |
 * | renames: expiry | -> NEW | same | `OLD/part-00000-OLD.parquet.kept`, `OLD.manifest.json` | same |
 * | removed from the redo log | -> NEW | same | same | nothing to repair |
 * | cleaned up | -> NEW | same | same; of the runs before OLD `keep` - 1 are left | the next run |
 *
 * The folder of a run holds data files only (and `_SUCCESS`), because some readers take every file in it for Parquet; what describes the run is next to it. All
 * data files, also hard links, are below it, so one rename of the link changes everything that readers see. Those of a kept run lose the ending `.parquet`:
 * `lake/**\/*.parquet` looks into hidden folders, and would read its rows twice, as it still can for a few milliseconds between renames and expiry.
 *
 * Only one run at a time works on a table: the caller holds its lock.
 */
export class Table {
  readonly runs: string;

  /** @param path Absolute path of the link. */
  constructor(readonly path: string) {
    this.runs = runsOf(path);
  }

  folder(run: string): string {
    return join(this.runs, run);
  }

  manifestPath(run: string): string {
    return this.folder(run) + manifestEnding;
  }

  keysPath(run: string): string {
    return this.folder(run) + keysEnding;
  }

  /** Reads the manifest of a run; `undefined` if there is none that can be read, or it belongs to another run, as in a copy. */
  async manifest(run: string): Promise<Manifest | undefined> {
    const { manifest } = await loadManifest(this.manifestPath(run));
    return manifest?.run_id === run ? manifest : undefined;
  }

  /**
   * Returns the run that the link points to; `undefined` if there is no link yet.
   *
   * @throws {SinkError} `E_SINK_FOREIGN` as `linked`, and for a link in place of the folder of the runs or of this run.
   */
  async published(): Promise<string | undefined> {
    const run = await this.linked();
    await refuseLinks(dirname(this.path), run === undefined ? this.runs : this.folder(run));
    return run;
  }

  /** As `published`, through links, too. @throws {SinkError} `E_SINK_FOREIGN` for anything other than a link of ours or an empty folder. */
  async linked(): Promise<string | undefined> {
    const found = await attempt('E_SINK_PATH', `cannot read ${this.path}`, () => lstat(this.path).catch(unlessMissing(undefined)));
    if (found === undefined) return undefined;
    if (found.isSymbolicLink()) {
      const target = await readlink(this.path);
      if (dirname(target) === basename(this.runs) && isRunId(basename(target))) return basename(target);
    }
    if (found.isDirectory() && (await readdir(this.path)).length === 0) return undefined;
    const kind = found.isSymbolicLink() ? 'a link' : found.isDirectory() ? 'a folder with files' : 'a file';
    throw new SinkError('E_SINK_FOREIGN', `${this.path} is ${kind}, not a leadstream table`);
  }

  /** Returns every run that has any files, ordered by name and so by time. */
  async runIds(): Promise<readonly string[]> {
    const names = (await namesIn(this.runs)).map((name) => name.replace(besideRun, ''));
    return [...new Set(names)].filter(isRunId).sort();
  }

  /** Returns the runs that have a manifest, whatever its content, ordered by time. */
  async runsWithManifest(): Promise<readonly string[]> {
    const beside = await namesIn(this.runs);
    return (await this.runIds()).filter((run) => beside.includes(run + manifestEnding));
  }

  /** Checks that the content of a run is really in it, not at the other end of a link. @throws {SinkError} `E_SINK_FOREIGN`. */
  async refuseLinksIn(run: string): Promise<void> {
    const link = (await entriesBelow(this.folder(run))).find((entry) => entry.isSymbolicLink());
    if (link) throw notOurFolder(join(link.parentPath, link.name), 'a link');
  }

  /** Creates the folder of a new run. @returns The folders that were created, outermost first. @throws {SinkError} `E_SINK_PATH`. */
  async makeRun(run: string, permissions: number): Promise<readonly string[]> {
    const made = await makeFolders(this.folder(run), dirname(this.path));
    if (!made.includes(this.folder(run)))
      throw new SinkError('E_SINK_PATH', `cannot write ${this.folder(run)}: it belongs to an earlier run`);
    for (const folder of [this.runs, this.folder(run)]) await openTo(folder, permissions);
    return made;
  }

  /** Returns the action that publishes a run. The draft of the link is created next to the folder of the run, where it points to nothing. */
  async linkTo(run: string): Promise<LinkAction> {
    const draft = this.folder(run) + linkEnding;
    const to = join(basename(this.runs), run);
    await attempt('E_SINK_WRITE', `cannot create the link ${draft}`, async () => {
      await removeFile(draft);
      await symlink(to, draft);
    });
    return { action: 'link', at: this.path, to, draft };
  }

  /** Returns runs whose commit began but did not complete. Runs with missing files were published once, and were being removed. */
  async unfinished(): Promise<readonly string[]> {
    const published = await this.published();
    const beside = await namesIn(this.runs);
    const found: string[] = [];
    for (const run of await this.runIds()) {
      const [shown, kept] = [await this.#presentFiles(run, ''), await this.#presentFiles(run, keptEnding)];
      const manifest = run === published ? undefined : await this.manifest(run);
      const isWhole = manifest !== undefined && shown.length + kept.length === manifest.files.length;
      if (isWhole ? shown.length > 0 : manifest === undefined && beside.includes(run + linkEnding)) found.push(run);
    }
    return found;
  }

  /** Returns later runs that were published, and that no rollback has made kept ones: the link is an older one. */
  async publishedAfter(run: string): Promise<readonly string[]> {
    const beside = await namesIn(this.runs);
    const found: string[] = [];
    for (const later of await this.runIds())
      if (later > run && !beside.includes(later + linkEnding) && (await this.hasAll(later, ''))) found.push(later);
    return found;
  }

  /** Says that the link is an older one, if it is. */
  async linkDifference(run: string): Promise<string | undefined> {
    const [later] = await this.publishedAfter(run);
    const remedy = `restore that link, or accept this one with leadstream rollback ${this.path} --to CURRENT`;
    return later && `run ${later} was published after run ${run}, to which ${this.path} leads; ${remedy}`;
  }

  /** Returns the actions that hide the data files of a run from every glob. */
  async expire(run: string | undefined): Promise<readonly RenameAction[]> {
    return run === undefined ? [] : this.#renames(run, '', keptEnding);
  }

  /** Returns the actions that restore the names of the data files of a kept run. */
  restore(run: string): Promise<readonly RenameAction[]> {
    return this.#renames(run, keptEnding, '');
  }

  /** Whether a run was published and then replaced: all its data files are kept ones. */
  isKept(run: string): Promise<boolean> {
    return this.hasAll(run, keptEnding);
  }

  /** Whether all data files of a run exist, with this ending. */
  async hasAll(run: string, ending: string): Promise<boolean> {
    const manifest = await this.manifest(run);
    return manifest !== undefined && (await this.#presentFiles(run, ending)).length === manifest.files.length;
  }

  async #renames(run: string, from: string, to: string): Promise<readonly RenameAction[]> {
    const paths = (await this.#presentFiles(run, from)).map((name) => join(this.folder(run), name));
    return paths.map((path) => ({ action: 'rename', from: path + from, to: path + to }));
  }

  /** Returns the data files of a run that exist with this ending. */
  async #presentFiles(run: string, ending: string): Promise<readonly string[]> {
    const present = new Set(await filesBelow(this.folder(run)));
    const listed = (await this.manifest(run))?.files.map(({ name }) => name);
    // Without a manifest, the names show which files are ours.
    const names = listed ?? [...present].flatMap((name) => (name.endsWith(ending) ? name.slice(0, name.length - ending.length) : []));
    return names.filter((name) => dataFileName.test(name) && present.has(name + ending));
  }
}

/**
 * Removes runs that are no longer needed: of those with a manifest, all but the published one and `keep` kept ones with other content, first of them the one that it
 * replaced. Deletes only files that the manifest lists, and folders that are empty afterwards.
 */
export async function prune(table: Table, published: string, keep: number): Promise<void> {
  const now = await table.manifest(published);
  const others = (await table.runIds()).filter((run) => run !== published).reverse();
  const kept: string[] = [];
  for (const run of others.toSorted((one, other) => Number(other === now?.replaced) - Number(one === now?.replaced))) {
    const manifest = await table.manifest(run);
    const isSame = now && manifest && isRepeated(now, manifest);
    if (!isSame && kept.length < keep && (await table.isKept(run))) kept.push(run);
  }
  for (const run of others.filter((run) => !kept.includes(run))) {
    const manifest = await table.manifest(run);
    const names = manifest?.files.flatMap(({ name }) => [name, name + keptEnding]);
    if (names) await remove(table, run, [...names, successName, successName + partialEnding]);
  }
}

/** Removes the remains of killed runs. */
export async function removeDeadRuns(table: Table): Promise<void> {
  const withManifest = await table.runsWithManifest();
  for (const run of await table.runIds()) {
    if (!withManifest.includes(run)) await removeRun(table, run);
  }
}

/** Removes a run that was not published, unless its folder contains foreign names. */
export async function removeRun(table: Table, run: string): Promise<void> {
  const names = await filesBelow(table.folder(run));
  // Files that it retained have names of other runs, like those in someone's copy, which has no draft of a link.
  const isCommitting = (await namesIn(table.runs)).includes(run + linkEnding);
  if (names.every((name) => isOurs(name, run, isCommitting))) await remove(table, run, names);
}

/** Removes files of a run, none of them through a link, then what is next to it. The manifest goes last, so that the removal can be repeated. */
async function remove(table: Table, run: string, names: readonly string[]): Promise<void> {
  const folder = table.folder(run);
  const present = new Set(await filesBelow(folder));
  await attempt('E_SINK_WRITE', `cannot remove the old run ${folder}`, async () => {
    for (const name of names) if (present.has(name)) await removeFile(join(folder, name));
    const partitions = (await entriesBelow(folder)).filter((entry) => entry.isDirectory() && entry.name.includes('='));
    const innermostFirst = partitions.map((entry) => join(entry.parentPath, entry.name)).sort((a, b) => b.length - a.length);
    for (const below of innermostFirst) await rmdir(below).catch(() => undefined);
    await rmdir(folder).catch(() => undefined);
    for (const ending of besideEndings) await removeFile(folder + ending);
  });
}

function isRunId(name: string): boolean {
  return /^[\w-]+$/.test(name);
}

/** Whether a run uses a name in its folder. */
function isOurs(name: string, run: string, isCommitting: boolean): boolean {
  const isPartial = name.endsWith(partialEnding);
  const whole = isPartial ? name.slice(0, -partialEnding.length) : name;
  return whole === successName || (dataFileName.test(whole) && (isPartial || isCommitting || whole.endsWith(`-${run}.parquet`)));
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return attempt('E_SINK_PATH', `cannot read ${folder}`, () => readdir(folder).catch(unlessMissing([])));
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await entriesBelow(folder);
  const from = folder.length + 1;
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name).slice(from));
}

/** Lists everything below a folder, without following links. @throws {SinkError} `E_SINK_PATH`. */
export async function entriesBelow(folder: string) {
  return attempt('E_SINK_PATH', `cannot read ${folder}, or a folder below it`, async () => {
    const found = await lstat(folder).catch(unlessMissing(undefined));
    return found?.isDirectory() === true ? readdir(folder, { recursive: true, withFileTypes: true }) : [];
  });
}
