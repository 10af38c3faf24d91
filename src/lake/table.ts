import { lstat, readdir, readlink, rmdir, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import {
  type Action,
  attempt,
  notOurFolder,
  makeFolders,
  openTo,
  refuseLinks,
  type LinkAction,
  type RenameAction,
  removeFile,
  runsFolderOf,
  unlessMissing,
} from '../store/index.js';
import type { CommittedRun, FoundVersion, LakeTable, LiveFile } from './format.js';
import { dataFileName, isRepeated, loadManifest } from './manifest.js';

export const successName = '_SUCCESS';
export const partialEnding = '.partial';
export const keptEnding = '.kept';
const manifestEnding = '.manifest.json';
const keysEnding = '.keys.bin';
const linkEnding = '.link';

/** Endings of the files next to the folder of a run, in the order in which they are removed. */
const besideEndings = [linkEnding, keysEnding + partialEnding, keysEnding, manifestEnding + partialEnding, manifestEnding];
const nextToRun = /\.(?:link|(?:keys\.bin|manifest\.json)(?:\.partial)?)$/;

type FoundRun = Awaited<ReturnType<Table['run']>>;

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
export class Table implements LakeTable {
  readonly format = { kind: 'plain' } as const;
  readonly runsFolder: string;

  /** @param path Absolute path of the link. */
  constructor(readonly path: string) {
    this.runsFolder = runsFolderOf(path);
  }

  folder(run: string): string {
    return join(this.runsFolder, run);
  }

  manifestPath(run: string): string {
    return this.folder(run) + manifestEnding;
  }

  keysPath(run: string): string {
    return this.folder(run) + keysEnding;
  }

  /** Reads the manifest of a run. There is none if it belongs to another run, as in a copy. */
  async manifest({ run }: Pick<CommittedRun, 'run'>): ReturnType<LakeTable['manifest']> {
    const { text = '', manifest } = await loadManifest(this.manifestPath(run));
    return { text, manifest: manifest?.run_id === run ? manifest : undefined };
  }

  /**
   * Returns the run that the link points to; `undefined` if there is no link yet.
   *
   * @throws {SinkError} `E_SINK_FOREIGN` as `linked`, and for a link in place of the folder of the runs or of this run.
   */
  async published(): Promise<string | undefined> {
    const run = await this.linked();
    await refuseLinks(dirname(this.path), run === undefined ? this.runsFolder : this.folder(run));
    return run;
  }

  /** As `published`, through links, too. @throws {SinkError} `E_SINK_FOREIGN` for anything other than a link of ours or an empty folder. */
  async linked(): Promise<string | undefined> {
    const found = await attempt('E_SINK_PATH', `cannot read ${this.path}`, () => lstat(this.path).catch(unlessMissing(undefined)));
    if (found === undefined) return undefined;
    if (found.isSymbolicLink()) {
      const target = await readlink(this.path);
      if (dirname(target) === basename(this.runsFolder) && isRunId(basename(target))) return basename(target);
    }
    if (found.isDirectory() && (await readdir(this.path)).length === 0) return undefined;
    const kind = found.isSymbolicLink() ? 'a link' : found.isDirectory() ? 'a folder with files' : 'a file';
    throw new SinkError('E_SINK_FOREIGN', `${this.path} is ${kind}, not a leadstream table`);
  }

  /** Returns every run that has any files, ordered by name and so by time. */
  async runIds(): Promise<readonly string[]> {
    const names = (await namesIn(this.runsFolder)).map((name) => name.replace(nextToRun, ''));
    return [...new Set(names)].filter(isRunId).sort();
  }

  /** Returns the runs that have a manifest, whatever its content, ordered by time. */
  async runsWithManifest(): Promise<readonly string[]> {
    const names = await namesIn(this.runsFolder);
    return (await this.runIds()).filter((run) => names.includes(run + manifestEnding));
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
    for (const folder of [this.runsFolder, this.folder(run)]) await openTo(folder, permissions);
    return made;
  }

  /** Returns the action that publishes a run. The draft of the link is created next to the folder of the run, where it points to nothing. */
  async linkTo(run: string): Promise<LinkAction> {
    const draft = this.folder(run) + linkEnding;
    const to = join(basename(this.runsFolder), run);
    await attempt('E_SINK_WRITE', `cannot create the link ${draft}`, async () => {
      await removeFile(draft);
      await symlink(to, draft);
    });
    return { action: 'link', at: this.path, to, draft };
  }

  /**
   * Returns what is there of a run: its manifest, as far as it can be read, its data files that globs find (`shown`) and those that have
   * expired (`kept`), and whether a link to it was drafted, but has not taken its place.
   */
  async run(run: string) {
    const { manifest } = await this.manifest({ run });
    const present = new Set(await filesBelow(this.folder(run)));
    // Without a manifest, the names show which files are ours.
    const names = manifest?.files.map(({ name }) => name) ?? [...present].map((name) => name.replace(/\.kept$/, ''));
    const ours = names.filter((name) => dataFileName.test(name));
    const shown = ours.filter((name) => present.has(name));
    const kept = ours.filter((name) => present.has(name + keptEnding));
    const isShown = manifest !== undefined && shown.length === manifest.files.length;
    const isKept = manifest !== undefined && kept.length === manifest.files.length;
    const isWhole = manifest !== undefined && shown.length + kept.length === manifest.files.length;
    const isDrafted = (await namesIn(this.runsFolder)).includes(run + linkEnding);
    return { run, manifest, shown, kept, isShown, isKept, isWhole, isDrafted };
  }

  /** Returns what is there of all runs, the newest first. */
  async runs(): Promise<readonly FoundRun[]> {
    const found: FoundRun[] = [];
    for (const run of (await this.runIds()).toReversed()) found.push(await this.run(run));
    return found;
  }

  /** The version that the link shows. Names of files are relative to the folder of its run. */
  async version(wanted?: string): Promise<FoundVersion> {
    const published = await this.linked();
    const runs = await this.runs();
    const others = runs.filter(({ run, manifest }) => manifest !== undefined && run !== published);
    if (published === undefined && wanted === undefined && others.length === 0) throw notATable(this.path);
    const committed = (some: readonly FoundRun[]) => some.map(({ run }) => ({ run, sha256: '' }));
    return {
      ...{ sequence: 0, runs: runs.map(({ run }) => run), state: undefined },
      current: published === undefined ? undefined : { run: published, sha256: '' },
      kept: committed(others.filter(({ isKept }) => isKept)),
      unfinished: committed(others.filter(({ isKept }) => !isKept)),
      files: runs.find(({ run }) => run === published)?.manifest?.files ?? [],
      older: published !== undefined && wanted === undefined ? await this.#older(published) : undefined,
      interrupted: runs.find((each) => isInterrupted(each, published))?.run,
    };
  }

  /** Says that the link is an older one, if it is. */
  async #older(published: string): Promise<string | undefined> {
    const [later] = await this.#publishedAfter(published);
    const remedy = `restore that link, or accept this one with leadstream rollback ${this.path} --to CURRENT`;
    return later && `run ${later} was published after run ${published}, to which ${this.path} leads; ${remedy}`;
  }

  placeOf({ name }: LiveFile, { run }: CommittedRun): string {
    return join(this.folder(run), name);
  }

  async restore({ current, kept, unfinished = [] }: FoundVersion, run: string): Promise<readonly Action[]> {
    const from = current?.run;
    if (run === from) return this.#expireAll(await this.#publishedAfter(run));
    // Without a link, all runs are kept ones.
    const others = [...kept, ...unfinished].flatMap((each) => (each.run === run ? [] : [each.run]));
    const restored = this.#renames(run, (await this.run(run)).kept, keptEnding, '');
    return [...restored, await this.linkTo(run), ...(await this.#expireAll(from === undefined ? others : [from]))];
  }

  /** Returns the actions that hide the data files of a run from every glob. */
  async expire(run: string): Promise<readonly RenameAction[]> {
    return this.#renames(run, (await this.run(run)).shown, '', keptEnding);
  }

  async #expireAll(runs: readonly string[]): Promise<readonly RenameAction[]> {
    return (await Promise.all(runs.map((run) => this.expire(run)))).flat();
  }

  /** Returns later runs that were published, and that no rollback has made kept ones. */
  async #publishedAfter(run: string): Promise<readonly string[]> {
    const later = (await this.runIds()).filter((each) => each > run);
    const found = await Promise.all(later.map((each) => this.run(each)));
    return found.flatMap((each) => (each.isShown && !each.isDrafted ? [each.run] : []));
  }

  #renames(run: string, names: readonly string[], from: string, to: string): readonly RenameAction[] {
    const paths = names.map((name) => join(this.folder(run), name));
    return paths.map((path) => ({ action: 'rename', from: path + from, to: path + to }));
  }
}

export function notATable(path: string): SinkError {
  return new SinkError('E_SINK_FOREIGN', `${path} is not a leadstream table: there is no link to a run`);
}

/** Whether the commit of a run began but did not complete. Runs with missing files were published once, and were being removed. */
function isInterrupted({ run, manifest, shown, isWhole, isDrafted }: FoundRun, published: string | undefined): boolean {
  return run === published || manifest === undefined ? isDrafted : isWhole && shown.length > 0;
}

/**
 * Removes runs that are no longer needed: of those with a manifest, all but the published one and `keep` kept ones with other content, first of them the one that it
 * replaced. Deletes only files that the manifest lists, and folders that are empty afterwards.
 */
export async function prune(table: Table, published: string, keep: number): Promise<void> {
  const runs = await table.runs();
  const now = runs.find(({ run }) => run === published)?.manifest;
  const others = runs.filter(({ run }) => run !== published);
  const kept: FoundRun[] = [];
  for (const each of others.toSorted((one, other) => Number(other.run === now?.replaced) - Number(one.run === now?.replaced))) {
    const isSame = now && each.manifest && isRepeated(now, each.manifest);
    if (!isSame && kept.length < keep && each.isKept) kept.push(each);
  }
  for (const each of others.filter((other) => !kept.includes(other))) {
    const names = each.manifest?.files.flatMap(({ name }) => [name, name + keptEnding]);
    if (names) await remove(table, each.run, [...names, successName, successName + partialEnding]);
  }
}

/** Removes the remains of killed runs. */
export async function removeDeadRuns(table: Table): Promise<void> {
  const withManifest = await table.runsWithManifest();
  for (const run of await table.runIds()) if (!withManifest.includes(run)) await removeRun(table, run);
}

/** Removes a run that was not published, unless its folder contains foreign names. */
export async function removeRun(table: Table, run: string): Promise<void> {
  const names = await filesBelow(table.folder(run));
  // Files that it retained have names of other runs, like those in someone's copy, which has no draft of a link.
  const isCommitting = (await namesIn(table.runsFolder)).includes(run + linkEnding);
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
