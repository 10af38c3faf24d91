import { lstat, readdir, readlink, rmdir, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, type LinkAction, ownFolder, refuseLinks, removeFile, runsFolderOf, unlessMissing } from '../store/index.js';
import { dataFileName } from './manifest.js';

/** Ending of a draft of the link. */
export const linkEnding = '.link';

export const successName = '_SUCCESS';
export const partialEnding = '.partial';
export const keptEnding = '.kept';

/** Ending of files that no reader takes for data files. */
export const hiddenEnding = /\.(?:partial|kept)$/;

/** A link such as `lake/leads` to a folder in `lake/.leads.runs`, which is what readers see. */
export class TableLink {
  readonly folder: string;

  /** @param path Absolute path of the link. */
  constructor(readonly path: string) {
    this.folder = runsFolderOf(path);
  }

  /** Returns the path of a folder that the link may lead to. */
  view(name: string): string {
    return join(this.folder, name);
  }

  /**
   * Returns the name of the folder that the link leads to; `undefined` if there is no link yet.
   *
   * @throws {SinkError} `E_SINK_FOREIGN` as `target`, and for a link in place of the folder of views or of this one.
   */
  async safeTarget(): Promise<string | undefined> {
    const name = await this.target();
    await refuseLinks(dirname(this.path), name === undefined ? this.folder : this.view(name));
    return name;
  }

  /** As `safeTarget`, through links, too. @throws {SinkError} `E_SINK_FOREIGN` for anything other than a link of ours or an empty folder. */
  async target(): Promise<string | undefined> {
    const found = await attempt('E_SINK_PATH', `cannot read ${this.path}`, () => lstat(this.path).catch(unlessMissing(undefined)));
    if (found === undefined) return undefined;
    if (found.isSymbolicLink()) {
      const target = await readlink(this.path);
      if (dirname(target) === basename(this.folder) && isViewName(basename(target))) return basename(target);
    }
    if (found.isDirectory() && (await readdir(this.path)).length === 0) return undefined;
    const kind = found.isSymbolicLink() ? 'a link' : found.isDirectory() ? 'a folder with files' : 'a file';
    throw new SinkError('E_SINK_FOREIGN', `${this.path} is ${kind}, not a leadstream table`);
  }

  /** Returns the action that puts the link in place. Its draft is created next to the views, where it leads to nothing. */
  async to(name: string): Promise<LinkAction> {
    const draft = this.view(name) + linkEnding;
    const to = join(basename(this.folder), name);
    await attempt('E_SINK_WRITE', `cannot create the link ${draft}`, async () => {
      await removeFile(draft);
      await symlink(to, draft);
    });
    return { action: 'link', at: this.path, to, draft };
  }
}

export function isViewName(name: string): boolean {
  return /^[\w-]+$/.test(name);
}

/** Whether a name in a view is one that runs give to files there. */
export function isOurs(name: string): boolean {
  const whole = name.replace(hiddenEnding, '');
  return whole === successName || dataFileName.test(whole);
}

/** Removes the folders of partitions below a folder, and that one, as far as they are empty. */
export async function removeEmpty(folder: string): Promise<void> {
  const partitions = (await entriesBelow(folder)).filter((entry) => entry.isDirectory() && entry.name.includes('='));
  const innermostFirst = partitions.map((entry) => join(entry.parentPath, entry.name)).sort((a, b) => b.length - a.length);
  for (const below of [...innermostFirst, folder]) await rmdir(below).catch(() => undefined);
}

/** Returns the runs of views, and of what is next to them, the newest first. */
export function viewsIn(names: readonly string[]): readonly string[] {
  const runs = new Set(names.map((name) => name.replace(nextToView, '')));
  const own = ['data', dirname(`${ownFolder}_`)];
  return [...runs]
    .filter((run) => isViewName(run) && !own.includes(run))
    .toSorted()
    .toReversed();
}

/** Endings of names next to views; those of files are of earlier versions. */
const nextToView = /\.(?:link|(?:keys\.bin|manifest\.json)(?:\.partial)?)$/;

/** Returns the names in a folder; none if it is missing. @throws {SinkError} `E_SINK_PATH`. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return attempt('E_SINK_PATH', `cannot read ${folder}`, () => readdir(folder).catch(unlessMissing([])));
}

/** Returns the paths of everything but folders below a folder, relative to it. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
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
