import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, linked, makeFolders, openTo, PartialFile, removeFile, sha256File, syncFolder, unlessMissing } from '../store/index.js';
import type { Action, DiskObjects, RenameAction } from '../store/index.js';
import { convert, refuseEarlier } from './earlier-layout.js';
import type { CommittedRun, FoundVersion, LinkedFormat } from './format.js';
import { hiddenEnding, keptEnding, linkEnding, partialEnding, successName } from './link.js';
import { filesBelow, isOurs, namesIn, removeEmpty, TableLink, viewsIn } from './link.js';
import { dataFileName, isRepeated, manifestIn, type Manifest, type ManifestFile, storedKeyOf } from './manifest.js';
import { intentKey, intentsIn, keysBelow, manifestKey, namedOnlyIn, storedRuns, textAt } from './store-table.js';

type FoundRun = Awaited<ReturnType<LinkFormat['runs']>>[number];

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

  /** As `begin`, for a rollback: a commit that an earlier version prepared may be logged somewhere else. */
  async show(): Promise<void> {
    await this.#repair((await namesIn(this.#root)).every((name) => !name.endsWith(linkEnding)));
  }

  async begin(): Promise<void> {
    await this.#repair(true);
  }

  async #repair(isConverted: boolean): Promise<void> {
    const published = await this.#link.safeTarget();
    if (isConverted) await convert(this.objects, published);
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
    const text = await textAt(this.objects, manifestKey(run));
    const manifest = manifestIn(text);
    const isOurs = manifest?.run_id === run && manifest.files.every(({ name }) => dataFileName.test(name));
    return { text, manifest: isOurs ? manifest : undefined };
  }

  /** The version that the link shows. */
  async load(): Promise<FoundVersion | undefined> {
    const published = await this.#link.target();
    await refuseEarlier(this.link, this.#root);
    const runs = await this.runs();
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
      interrupted: others.find((each) => (each.isBegun ? each.isDrafted : each.isWhole && each.shown > 0))?.run,
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
    for (const folder of [this.#root, this.view(run)]) await openTo(folder, permissions);
    return [...actions, await this.#link.to(run), ...(await this.#hiddenBut(run))];
  }

  async restore({ current }: FoundVersion, run: string): Promise<readonly Action[]> {
    const { manifest } = await this.manifest(run);
    const stored = new Set(await keysBelow(this.objects, ['data/']));
    // Files of the current run may be missing.
    const files = manifest?.files.filter(({ name }) => stored.has(storedKeyOf(name))) ?? [];
    const actions: Action[] = manifest ? await this.#draft({ ...manifest, files }) : [];
    if (run !== current?.run) actions.push(await this.#link.to(run));
    return [...actions, ...(await this.#hiddenBut(run))];
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
    if (current === undefined || stay[0]?.run_id !== current.run)
      throw new SinkError('E_SINK_FOREIGN', `${this.link} leads to no run whose manifest can be read, so nothing is removed`);
    // One that cannot be read may name every file that was there then.
    const unread = kept.map(({ run }) => run).filter((run) => stay.every((each) => each.run_id !== run));
    const names = namedOnlyIn(await this.#manifests(dropped), stay);
    return names.filter((name) => unread.every((run) => run < (writerOf(name) ?? ''))).map(storedKeyOf);
  }

  /** Those that can be read. */
  async #manifests(runs: readonly string[]): Promise<readonly Manifest[]> {
    const found = [];
    for (const run of runs) found.push((await this.manifest(run)).manifest ?? []);
    return found.flat();
  }

  async remove(keys: readonly string[], run?: string): Promise<void> {
    const published = await this.#link.target();
    for (const [each, names] of await this.#views()) {
      if (run === undefined ? each === published : each !== run) continue;
      const view = this.view(each);
      await attempt('E_SINK_WRITE', `cannot remove ${view}`, async () => {
        for (const name of names) if (await this.#isNeedless(view, name)) await removeFile(join(view, name));
        await removeFile(view + linkEnding);
        await removeEmpty(view);
      });
    }
    const copies = (await keysBelow(this.objects, ['data/'])).filter((key) => key.endsWith('.stored' + partialEnding));
    await this.objects.remove([...keys, ...copies]);
    for (const writer of await namesIn(join(this.#root, 'data'))) await removeEmpty(join(this.#root, 'data', writer));
  }

  /** Whether a file in a view is ours, and stored: as the same file, or with the same bytes where a copy of the folders separated them. */
  async #isNeedless(view: string, name: string): Promise<boolean> {
    const whole = name.replace(hiddenEnding, '');
    if (!dataFileName.test(whole) || name.endsWith(partialEnding)) return isOurs(name);
    const [path, storedPath] = [join(view, name), await this.pathOf(whole)];
    const stored = await lstat(storedPath).catch(unlessMissing(undefined));
    if (stored === undefined) return false;
    const { ino, size } = await lstat(path);
    return ino === stored.ino || (size === stored.size && (await sha256File(path)) === (await sha256File(storedPath)));
  }

  /**
   * Returns the names of the files in each view that is there, whether or not its run still has a manifest. A folder that somebody put there
   * belongs to no run, and has no file of a run of its name.
   */
  async #views(): Promise<ReadonlyMap<string, readonly string[]>> {
    const runs = [...(await storedRuns(this.objects)), ...(await intentsIn(this.objects)).map(({ run }) => run)];
    const known = new Set([...runs, await this.#link.target()]);
    const views = new Map<string, readonly string[]>();
    for (const run of viewsIn(await namesIn(this.#root))) {
      const names = await filesBelow(this.view(run));
      if (known.has(run) || names.some((name) => writerOf(name) === run)) views.set(run, names);
    }
    return views;
  }

  /**
   * Returns what is there of all runs with a manifest, the newest first: that, if it can be read, the files that readers see, whether any of
   * its files is missing, and whether a link to its view was drafted.
   */
  async runs() {
    const beside = await namesIn(this.#root);
    const begun = new Set((await intentsIn(this.objects)).map(({ run }) => run));
    const stored = new Set(await keysBelow(this.objects, ['data/']));
    const found = [];
    for (const run of (await storedRuns(this.objects)).toSorted().toReversed()) {
      const { manifest } = await this.manifest(run);
      const present = new Set(await filesBelow(this.view(run)));
      const shown = manifest?.files.filter(({ name }) => present.has(name)).length ?? 0;
      const isShown = manifest?.files.length === shown;
      const isWhole = manifest?.files.every(({ name }) => stored.has(storedKeyOf(name))) === true;
      const [isBegun, isDrafted] = [begun.has(run), beside.includes(run + linkEnding)];
      found.push({ run, manifest, shown, isShown, isWhole, isKept: isWhole && shown === 0 && !isBegun, isBegun, isDrafted });
    }
    return found;
  }

  /**
   * Drafts the view of a run under names that no glob finds: as hard links where possible. Stored files with other permissions are copied,
   * since all names of a file share them.
   *
   * @param permissions Default: those of the files.
   * @throws {SinkError} `E_SINK_VERIFY` when a copied file does not match its manifest.
   */
  async #draft({ run_id: run, files, success_file: hasSuccess }: Manifest, permissions?: number): Promise<RenameAction[]> {
    const view = this.view(run);
    const copies: RenameAction[] = [];
    const shown: RenameAction[] = [];
    const changed = new Set<string>();
    for (const name of await filesBelow(view))
      if (hiddenEnding.test(name) && (await this.#isNeedless(view, name))) await removeFile(join(view, name));
    let fileMode = permissions;
    for (const file of files) {
      const [stored, to] = [await this.pathOf(file.name), join(view, file.name)];
      await attempt('E_SINK_WRITE', `cannot show ${to}`, async () => {
        const { ino, mode } = await lstat(stored);
        fileMode ??= mode & 0o777;
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
    if (hasSuccess) {
      const file = await PartialFile.open(join(view, successName + partialEnding), join(view, successName), [], fileMode);
      await file.close();
      shown.push(file.action);
    }
    // The commit makes the others durable.
    for (const folder of changed) if (folder !== this.#root) await syncFolder(folder);
    return [...copies, ...shown];
  }

  /** Returns the actions that hide the data files of all other views from every glob. */
  async #hiddenBut(current: string): Promise<readonly RenameAction[]> {
    const views = [...(await this.#views())].filter(([run]) => run !== current);
    const paths = views.flatMap(([run, names]) =>
      names.filter((name) => dataFileName.test(name)).map((name) => join(this.view(run), name)),
    );
    return paths.map((path) => ({ action: 'rename', from: path, to: path + keptEnding }));
  }
}

/** Returns the run that wrote a data file. */
function writerOf(name: string): string | undefined {
  return dataFileName.exec(name.replace(hiddenEnding, ''))?.[3];
}

function committed(run: string): CommittedRun {
  return { run, sha256: '' };
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
