import { createReadStream } from 'node:fs';
import { lstat, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import {
  type Action,
  attempt,
  type DiskObjects,
  linked,
  makeFolders,
  openTo,
  PartialFile,
  removeFile,
  type RenameAction,
  sha256File,
  syncFolder,
  unlessMissing,
} from '../store/index.js';
import { convert, refuseEarlier } from './earlier-layout.js';
import type { CommittedRun, FoundVersion, LinkedFormat } from './format.js';
import { entriesBelow, filesBelow, linkEnding, namesIn, TableLink } from './link.js';
import { dataFileName, isRepeated, manifestIn, type Manifest, type ManifestFile, storedKeyOf } from './manifest.js';
import { intentKey, intentsIn, keysBelow, manifestKey, namedOnlyIn, storedRuns } from './store-table.js';

export const successName = '_SUCCESS';
const partialEnding = '.partial';
const keptEnding = '.kept';

type FoundRun = Awaited<ReturnType<LinkFormat['run']>>;

/**
 * The parts of a table `lake/leads`, and the files after each step. All are below `lake/.leads.runs`; runs are NEW and OLD:
 *
 * | after | `lake/leads` | of NEW | of OLD | a kill here is repaired by |
 * | --- | --- | --- | --- | --- |
 * | writing | -> OLD | `_leadstream/intents/NEW.json`, `data/NEW/part-00000.parquet.stored` | `data/OLD/…`, `_leadstream/runs/OLD.json`, its view `OLD/part-00000-OLD.parquet` | the next run, which removes NEW |
 * | verified, gates passed, prepared | -> OLD | also `_leadstream/runs/NEW.json`, `NEW.link`, in `NEW/` hard links `*.parquet.partial` of all files | same | the next run, which removes NEW |
 * | commit logged (`<state-dir>/redo-log`) | -> OLD | same | same | the next run or `run --recover`, which carries out all actions below |
 * | renames: view, `_SUCCESS` | -> OLD | `NEW/part-00000-NEW.parquet`, `NEW.link` | same | same |
 * | link | -> NEW | without `NEW.link` | same | same |
 * | renames: expiry | -> NEW | same | `OLD/part-00000-OLD.parquet.kept` | same |
 * | removed from the redo log | -> NEW | same | same | nothing to repair |
 * | cleaned up | -> NEW | without its intent | without `OLD/`; of the runs before OLD `keep` - 1 are left | the next run |
 *
 * A view holds data files only (and `_SUCCESS`), because some readers take every file for Parquet. The names of stored files do not end in
 * `.parquet`, and there is one view: `lake/**\/*.parquet` looks into hidden folders, and would read rows twice, as it still can for a few
 * milliseconds between renames and expiry. A run holds the lock of the table.
 */
export class LinkFormat implements LinkedFormat {
  readonly kind = 'plain';
  readonly #link: TableLink;

  /** @param objects In the folder of views of the link. */
  constructor(
    private readonly objects: DiskObjects,
    readonly link: string,
  ) {
    this.#link = new TableLink(link);
  }

  get #root(): string {
    return this.objects.root;
  }

  /** Also gives a table of an earlier version this layout. The caller holds the lock. */
  async show(): Promise<void> {
    const published = await this.#link.safeTarget();
    await convert(this.objects);
    if (published !== undefined) await this.objects.remove([intentKey(published)]);
  }

  pathOf(key: string): Promise<string> {
    return this.objects.pathOf(storedKeyOf(key));
  }

  view(run: string): string {
    return this.#link.view(run);
  }

  /** There is no manifest if it belongs to another run, or names files that no run stores. */
  async manifest(run: string) {
    const text = (await this.objects.read(manifestKey(run)))?.bytes.toString('utf8') ?? '';
    const manifest = manifestIn(text);
    const isOurs = manifest?.run_id === run && manifest.files.every(({ name }) => dataFileName.test(name));
    return { text, manifest: isOurs ? manifest : undefined };
  }

  /** The version that the link shows. */
  async load(): Promise<FoundVersion | undefined> {
    const published = await this.#link.target();
    await refuseEarlier(this.link, this.#root);
    const runs = await this.#runs();
    const others = runs.filter(({ run }) => run !== published);
    const shown = others.filter(({ isShown, isDrafted }) => isShown && !isDrafted);
    // A first run that was killed is no table yet.
    if (published === undefined && others.every((each) => each.isBegun && !shown.includes(each))) return undefined;
    return {
      ...{ sequence: 0, state: undefined, runs: runs.map(({ run }) => run) },
      current: published === undefined ? undefined : committed(published),
      kept: others.flatMap(({ run, isKept }) => (isKept ? [committed(run)] : [])),
      unfinished: others.flatMap(({ run, isKept }) => (isKept ? [] : [committed(run)])),
      files: runs.find(({ run }) => run === published)?.manifest?.files ?? [],
      ...(published === undefined ? { lost: this.#lost(others) } : { older: this.#older(published, shown) }),
      // Its commit began but did not complete. Runs with missing files were published once, and were being removed.
      interrupted: others.find(({ isBegun, isDrafted, isWhole, shown: some }) => (isBegun ? isDrafted : isWhole && some.length > 0))?.run,
    };
  }

  /** Says that the link is an older one, if it is: runs after it are shown, which no rollback has made kept ones. */
  #older(published: string, shown: readonly FoundRun[]): string | undefined {
    const later = shown.findLast(({ run }) => run > published);
    const remedy = `restore that link, or accept this one with leadstream rollback ${this.link} --to CURRENT`;
    return later && `run ${later.run} was published after run ${published}, to which ${this.link} leads; ${remedy}`;
  }

  #lost(runs: readonly FoundRun[]): FoundVersion['lost'] {
    const names = runs.map(({ run }) => run).toReversed();
    const shown = runs.find(({ isShown }) => isShown);
    const message = `${this.link} is no longer a link to a run, but ${this.#root} has runs (${names.join(', ')})`;
    const remedy = `publish one of them again with leadstream rollback ${this.link} --to RUN, or remove ${this.#root} to start a new table`;
    return { message, remedy, shown: shown && committed(shown.run) };
  }

  async prepare(manifest: Manifest, permissions: number): Promise<readonly Action[]> {
    const { run_id: run } = manifest;
    const actions = await this.#draft(manifest, permissions);
    const view = this.view(run);
    for (const folder of [this.#root, view]) await openTo(folder, permissions);
    if (manifest.success_file) {
      const file = await PartialFile.open(join(view, successName + partialEnding), join(view, successName), [], permissions);
      await file.close();
      actions.push(file.action);
    }
    return [...actions, await this.#link.to(run), ...(await this.#hidden(({ run: each }) => each !== run))];
  }

  async restore({ current }: FoundVersion, run: string): Promise<readonly Action[]> {
    if (run === current?.run) return this.#hidden((each) => each.run > run);
    const { manifest } = await this.manifest(run);
    const actions = manifest ? await this.#draft(manifest) : [];
    return [...actions, await this.#link.to(run), ...(await this.#hidden((each) => each.run !== run))];
  }

  /** Those with other content than the current one, first of them the one that it replaced. */
  async keeping({ current, kept, unfinished = [] }: FoundVersion, keep: number): Promise<readonly CommittedRun[]> {
    const now = current && (await this.manifest(current.run)).manifest;
    const stay: CommittedRun[] = [];
    const replacedFirst = kept.toSorted((one, other) => Number(other.run === now?.replaced) - Number(one.run === now?.replaced));
    for (const each of replacedFirst) {
      const { manifest } = await this.manifest(each.run);
      const isSame = now && manifest && isRepeated(now, manifest);
      if (!isSame && stay.length < keep) stay.push(each);
    }
    // What cannot be read is not removed.
    for (const each of unfinished) if ((await this.manifest(each.run)).manifest === undefined) stay.push(each);
    return stay;
  }

  async expire({ current, kept }: FoundVersion, _keep: number, dropped: readonly string[]): Promise<readonly string[]> {
    const stay = await this.#manifests([...(current ? [current] : []), ...kept].map(({ run }) => run));
    if (stay[0]?.run_id !== current?.run) throw new SinkError('E_SINK_FOREIGN', `${this.link}: the manifest of its run cannot be read`);
    return namedOnlyIn(await this.#manifests(dropped), stay).map(storedKeyOf);
  }

  /** Those that can be read. */
  async #manifests(runs: readonly string[]): Promise<readonly Manifest[]> {
    const found: Manifest[] = [];
    for (const run of runs) found.push(...[(await this.manifest(run)).manifest ?? []].flat());
    return found;
  }

  async clear(runs: readonly string[]): Promise<void> {
    for (const run of runs) {
      const view = this.view(run);
      await attempt('E_SINK_WRITE', `cannot remove ${view}`, async () => {
        for (const name of await filesBelow(view)) if (isOurs(name)) await removeFile(join(view, name));
        await removeFile(view + linkEnding);
        await removeEmpty(view);
      });
    }
    const copies = (await keysBelow(this.objects, ['data/'])).filter((key) => key.endsWith('.stored' + partialEnding));
    await this.objects.remove(copies);
    for (const writer of await namesIn(join(this.#root, 'data'))) await removeEmpty(join(this.#root, 'data', writer));
  }

  /** Returns what is there of a run: its manifest, if it can be read, its files that readers see (`shown`), and whether a link to it was drafted. */
  async run(run: string, stored: ReadonlySet<string>, beside: readonly string[], isBegun: boolean) {
    const { manifest } = await this.manifest(run);
    const present = new Set(await filesBelow(this.view(run)));
    const shown = manifest?.files.map(({ name }) => name).filter((name) => present.has(name)) ?? [];
    const isShown = manifest !== undefined && shown.length === manifest.files.length;
    const isWhole = manifest?.files.every(({ name }) => stored.has(storedKeyOf(name))) === true;
    const isKept = isWhole && shown.length === 0 && !isBegun;
    return { run, manifest, shown, isShown, isWhole, isKept, isBegun, isDrafted: beside.includes(run + linkEnding) };
  }

  /** Returns what is there of all runs with a manifest, the newest first. */
  async #runs(): Promise<readonly FoundRun[]> {
    const beside = await namesIn(this.#root);
    const begun = new Set((await intentsIn(this.objects)).map(({ run }) => run));
    const stored = new Set(await keysBelow(this.objects, ['data/']));
    const found: FoundRun[] = [];
    for (const run of (await storedRuns(this.objects)).toSorted().toReversed())
      found.push(await this.run(run, stored, beside, begun.has(run)));
    return found;
  }

  /**
   * Drafts the view of a run under names that no glob finds: as hard links where possible. Stored files with other permissions are copied,
   * since all names of a file share them.
   *
   * @param permissions Default: those of the files.
   * @throws {SinkError} `E_SINK_VERIFY` when a copied file does not match its manifest.
   */
  async #draft({ run_id: run, files }: Manifest, permissions?: number): Promise<RenameAction[]> {
    const view = this.view(run);
    const copies: RenameAction[] = [];
    const shown: RenameAction[] = [];
    const changed = new Set<string>();
    for (const name of await filesBelow(view)) if (left.test(name) && isOurs(name)) await removeFile(join(view, name));
    for (const file of files) {
      const [stored, to] = [await this.pathOf(file.name), join(view, file.name)];
      await attempt('E_SINK_WRITE', `cannot show ${to}`, async () => {
        const { ino, mode } = await lstat(stored);
        const present = await lstat(to).catch(unlessMissing(undefined));
        if (present?.ino === ino) return;
        await makeFolders(dirname(to), this.#root, permissions ?? mode & 0o777, (folder) => changed.add(folder));
        const isCopied = permissions !== undefined && (mode & 0o777) !== permissions;
        if (isCopied) copies.push(await copied(stored, file, permissions));
        await linked(isCopied ? stored + partialEnding : stored, to + partialEnding);
        const isNew = permissions !== undefined && file.written_by === run;
        shown.push({ action: 'rename', from: to + partialEnding, to, file: contentOf(file, isNew) });
      });
    }
    // The commit makes the others durable.
    for (const folder of changed) if (folder !== this.#root) await syncFolder(folder);
    return [...copies, ...shown];
  }

  /** Returns the actions that hide the data files of some runs from every glob. */
  async #hidden(isMeant: (run: FoundRun) => boolean): Promise<readonly RenameAction[]> {
    const paths = (await this.#runs()).filter(isMeant).flatMap(({ run, shown }) => shown.map((name) => join(this.view(run), name)));
    return paths.map((path) => ({ action: 'rename', from: path, to: path + keptEnding }));
  }
}

function committed(run: string): CommittedRun {
  return { run, sha256: '' };
}

const left = /\.(?:partial|kept)$/;

/** Whether a name in a view is one that runs give to files there. */
function isOurs(name: string): boolean {
  const whole = name.replace(left, '');
  return whole === successName || dataFileName.test(whole);
}

/** Files of this run are read before the commit, those of others are only looked up. */
function contentOf({ bytes, sha256 }: ManifestFile, isNew: boolean): RenameAction['file'] & object {
  return { bytes, ...(isNew && sha256 !== undefined && { sha256 }) };
}

/** Copies a stored file, to take its place. */
async function copied(stored: string, { sha256 }: ManifestFile, permissions: number): Promise<RenameAction> {
  await removeFile(stored + partialEnding);
  const copy = await PartialFile.open(stored + partialEnding, stored, [], permissions);
  for await (const chunk of createReadStream(stored, { highWaterMark: 1024 * 1024 })) await copy.append(chunk as Buffer);
  await copy.close();
  if ((await sha256File(copy.path)) === sha256) return copy.action;
  throw new SinkError('E_SINK_VERIFY', `${stored}: its contents differ from its manifest (SHA-256), so it is not reused`);
}

/** Removes the folders of partitions below a folder, and that one, as far as they are empty. */
async function removeEmpty(folder: string): Promise<void> {
  const partitions = (await entriesBelow(folder)).filter((entry) => entry.isDirectory() && entry.name.includes('='));
  const innermostFirst = partitions.map((entry) => join(entry.parentPath, entry.name)).sort((a, b) => b.length - a.length);
  for (const below of [...innermostFirst, folder]) await rmdir(below).catch(() => undefined);
}
