import { dirname, join } from 'node:path';
import { GateError, type OutputColumn, reasonOf, SinkError, type Warning } from '../core/index.js';
import { attempt, isLocked, isRemote, makeFolders, PartialFile, removeFolders, ScratchFolder } from '../store/index.js';
import { sha256Of, syncFolder, type Action, type FileContent } from '../store/index.js';
import { localFault, readingObject, sizeFault } from './files.js';
import type { AddedFile, FieldIds, FoundVersion, TableChange, TableFormat, TableVersion } from './format.js';
import { dataFileNameOf, isRepeated, storedKeyOf, storedNameOf, withLive } from './manifest.js';
import type { Manifest, ManifestFile, modes } from './manifest.js';
import type { PartitionField, TableKind } from './partitions.js';
import type { RunLog } from './run-log.js';
import { refuseOvertaken, removeDead, removeLeft, type TablePart } from './shared-run.js';
import { intentKey, intentsIn, keysKey, manifestKey, type Intent, type StoreTable, unchangedKey } from './store-table.js';

/** Number of files that are uploaded at a time. */
const maxUploads = 4;

export type Mode = (typeof modes)[number];

export interface StoreRunOptions {
  readonly mode: Mode;
  readonly permissions: number;
  readonly keep: number;
}

export interface StoreRunContext {
  readonly at: string;
  readonly runId: string;
  readonly runLog?: RunLog | undefined;
  /** Default: the run is that of one process. */
  readonly part?: TablePart | undefined;
  readonly warn?: ((warning: Warning) => void) | undefined;
}

/** What a run publishes. */
export interface Publication {
  /** All columns that readers see. */
  readonly columns: readonly OutputColumn[];
  readonly partitions: readonly PartitionField[];
  readonly added: readonly AddedFile[];
  /** Files of the table before that stay in it. */
  readonly retained: readonly ManifestFile[];
  /** Whether nothing has changed, so that nothing is committed. */
  readonly isUnchanged?: boolean;
  /** Writes the key index, if there is one. */
  readonly storeKeys: ((file: PartialFile) => Promise<void>) | undefined;
  /** @param keys Size and digest of the key index. */
  manifest(keys: FileContent | undefined): Manifest;
}

/**
 * A run of a table. The files of a plain table of this machine are written where they stay; others are finished and verified in a scratch
 * folder, uploaded, and removed there.
 *
 * Calls come in the order of the methods; `abort` may come at any time before `publish` has been committed.
 */
export class StoreRun {
  readonly #uploads = new Set<Promise<void>>();
  #failure: unknown;
  #files = 0;
  /** Data files of this process. */
  readonly #names: string[] = [];
  /** Files that are written where they stay, and others until they are uploaded. */
  readonly #opened = new Set<PartialFile>();
  /** Folders of this machine with names that are not durable yet. */
  readonly #changed = new Set<string>();
  #change: TableChange | undefined;
  /** What the manifest would say of a run that changes nothing. */
  #unchanged: Manifest | undefined;
  #committed: TableVersion | undefined;
  /** Whether a commit was attempted whose outcome is unknown, so that nothing may be removed. */
  #isUndecided = false;
  /** Commits what no action does; `undefined` if actions do. @throws {LeadstreamError} `E_RUN_LOCKED` if another writer committed first. */
  readonly commit?: () => Promise<void>;

  private constructor(
    private readonly table: StoreTable,
    private readonly options: StoreRunOptions,
    private readonly context: StoreRunContext,
    private readonly scratch: ScratchFolder | undefined,
    private readonly base: TableVersion | undefined,
    /** The table before this run. */
    readonly before: Manifest | undefined,
    /** What the run said that ran last, also if it changed nothing. */
    readonly last: Manifest | undefined,
    /** Folders that were created for it, outermost first. */
    private made: readonly string[],
  ) {
    const { format } = table;
    if (format.link === undefined) this.commit = () => this.#commit(format);
  }

  /**
   * @param folder Private folder of this machine, for files that are not yet uploaded.
   * @throws {SinkError} `E_SINK_FOREIGN` if something else is there; `E_SINK_PATH` if nothing can be written; `E_SINK_RUN` for a lost table.
   * @throws {GateError} `E_GATE_VERIFY` for a version that is not the newest; when files are to be kept, and the manifest is not the one that its run wrote.
   */
  static async open(table: StoreTable, options: StoreRunOptions, context: StoreRunContext, folder: string): Promise<StoreRun> {
    const { format, linked, objects } = table;
    const { at, runId, runLog, part, warn } = context;
    const isShard = part?.role === 'shard';
    // A shard holds no lock.
    if (!isShard) await (linked ? linked.begin() : format.show?.());
    let base: FoundVersion | undefined = await table.load(runLog);
    if (part && part.role !== 'plan') await refuseOvertaken(table, base, part, at);
    if (base === undefined && format.link === undefined && !isShard) {
      // Another run may have begun the table in the meantime.
      await table.refuseForeign().catch(async (failure: unknown) => {
        if ((await format.load()) === undefined) throw failure;
      });
      await format.create?.();
      base = await format.load();
    }
    part?.bases.set(at, base?.sequence ?? -1);
    const before = base && (await manifestBefore(table, base, options.mode, context));
    const last = base && before && ((await table.unchanged(base)) ?? before);
    if (base && format.link === undefined) format.check?.(base, options.mode);
    if (base && base.current === undefined && base.files.length > 0) {
      const fault = `other programs removed what ${table.path} knew of its last run`;
      if (options.mode !== 'replace') throw new SinkError('E_SINK_FOREIGN', `${at}: ${fault}; run once with mode: replace`);
      warn?.({ code: 'W_SINK_FOREIGN', message: `${fault}; this run replaces the rows that they left` });
    }
    if (linked && !isShard) await removeDead(table, base, before, part?.run);
    const made = linked && !isShard ? await reserved(table, runId, options.permissions) : [];
    const scratch = linked
      ? undefined
      : await attempt('E_SINK_PATH', `cannot create a folder in ${folder}`, () => ScratchFolder.open(folder));
    if (isShard) return new StoreRun(table, options, context, scratch, base, before, last, made);
    const intent: Intent = { version: 1, run: runId, base: base?.sequence ?? -1, started_at: new Date().toISOString() };
    try {
      await objects.put(intentKey(runId), `${JSON.stringify(intent)}\n`);
    } catch (failure) {
      await scratch?.remove();
      await removeFolders(made);
      throw failure;
    }
    return new StoreRun(table, options, context, scratch, base, before, last, made);
  }

  /** The table's path, as users write it. */
  get path(): string {
    return this.table.path;
  }

  /** Its name in messages. */
  get at(): string {
    return this.context.at;
  }

  get kind(): TableKind {
    return this.table.format.kind;
  }

  /** As `TableFormat.checkColumns`. */
  checkColumns(columns: readonly OutputColumn[], partitions: readonly PartitionField[]): FieldIds | undefined {
    return this.table.format.checkColumns?.(this.base, columns, partitions);
  }

  /** Opens a file for rows of a partition. @returns Its name in the manifest, too. */
  async create(folder: string, place: number) {
    const { runId, part } = this.context;
    const index = (part?.first ?? 0) + place;
    const isViewed = this.kind === 'plain' && !isRemote(this.path);
    const name = this.table.linked ? dataFileNameOf(runId, folder, index) : storedNameOf(runId, folder, index, isViewed);
    this.#names.push(name);
    return { name, file: await this.#open(name) };
  }

  /** Takes a verified file. Returns while up to `maxUploads` files are on their way; a failure is reported by a later call. */
  async take(name: string, file: PartialFile): Promise<void> {
    if (this.table.linked) return;
    while (this.#uploads.size >= maxUploads) await Promise.race(this.#uploads);
    if (this.#failure !== undefined) throw this.#failure;
    const upload: Promise<void> = this.#upload(name, file)
      .catch((failure: unknown) => void (this.#failure ??= failure))
      .finally(() => this.#uploads.delete(upload));
    this.#uploads.add(upload);
  }

  /** Resolves when the files so far are stored for good. */
  async stored(): Promise<void> {
    await Promise.all(this.#uploads);
    if (this.#failure !== undefined) throw this.#failure;
    for (const folder of this.#changed) await attempt('E_SINK_WRITE', `cannot make ${folder} durable`, () => syncFolder(folder));
  }

  /** Returns the bytes of the key index of the table before; `undefined` if there is none. */
  async keys(): Promise<Buffer | undefined> {
    return this.before && (await this.table.objects.read(keysKey(this.before.run_id)))?.bytes;
  }

  /** Works with a local copy of a data file of the table before. */
  async reading<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    return readingObject(this.table, name, this.scratch, work);
  }

  /**
   * Checks that files of the table before, or of shards, are still what was written: their sizes, and of a plain table of this machine whether
   * they are regular, with the start and end of a Parquet file. `verify` compares digests: here that would mean reading the whole table in every run.
   *
   * @throws {GateError} `E_GATE_VERIFY`.
   */
  async checkRetained(files: readonly Pick<ManifestFile, 'name' | 'bytes'>[]): Promise<void> {
    if (files.length === 0) return;
    const { linked, objects } = this.table;
    const sizes = linked ? undefined : await this.table.sizes(files);
    for (const { name, bytes } of files) {
      const place = linked ? await linked.pathOf(name) : `${objects.root}/${name}`;
      const fault = linked ? await localFault(place, bytes) : sizeFault(sizes?.get(name), bytes);
      if (fault === undefined) continue;
      throw new GateError('E_GATE_VERIFY', `${this.context.at}: ${place} ${fault}, so it is not reused; see leadstream verify`);
    }
  }

  /** Stores everything that the commit needs. @returns The actions that commit the run, in order; none if `commit` does. */
  async publish(publication: Publication): Promise<readonly Action[]> {
    const { columns, partitions, added, retained, storeKeys, manifest: manifestWith } = publication;
    await this.stored();
    const { runId, runLog } = this.context;
    const { format, linked } = this.table;
    if (publication.isUnchanged && (linked || (await this.#isAlone()))) {
      this.#unchanged = manifestWith(undefined);
      if (format.link === undefined) format.announce?.(runId, this.base, undefined);
      return [];
    }
    const keys = storeKeys && (await this.#stored(keysKey(runId), storeKeys));
    const made = manifestWith(keys);
    const { before } = this;
    // A run that repeats the one before takes its place, so that one is not kept.
    const manifest = linked && before && isRepeated(before, made) ? { ...made, replaced: before.replaced } : made;
    if (format.link === undefined && (await this.#isUnchanged(manifest)) && (await this.#isAlone())) {
      format.announce?.(runId, this.base, undefined);
      return [];
    }
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const { sha256 } = await this.#stored(manifestKey(runId), (file) => file.append(text));
    for (const folder of this.#changed) await attempt('E_SINK_WRITE', `cannot make ${folder} durable`, () => syncFolder(folder));
    await runLog?.record(this.path, runId, sha256);
    if (format.link !== undefined) return format.prepare(manifest, this.options.permissions);
    const stay = new Set(retained.map(({ name }) => name));
    const removed = (this.base?.files ?? []).flatMap(({ name }) => (stay.has(name) ? [] : [name]));
    this.#change = { runId, manifest, sha256, columns, partitions, added, removed, keep: this.options.keep };
    format.announce?.(runId, this.base, this.#change);
    return [];
  }

  async #commit(format: TableFormat): Promise<void> {
    if (this.#change === undefined) {
      await format.stay?.(this.context.runId);
      return;
    }
    this.#isUndecided = true;
    try {
      this.#committed = await format.commit(this.base, this.#change);
    } catch (failure) {
      this.#isUndecided = !isLocked(failure);
      throw failure;
    }
    const { at, warn } = this.context;
    await format.show?.().catch((failure: unknown) => {
      warn?.({ code: 'W_SINK_VIEW', message: `${at}: published, but not shown yet: ${reasonOf(failure)}` });
    });
  }

  /** Removes what the commit made obsolete. */
  async cleanup(): Promise<void> {
    await this.scratch?.remove();
    const { runId, runLog, part } = this.context;
    if (part) await removeLeft(this.table, this.at, part);
    if (this.#unchanged) await this.table.objects.put(unchangedKey, `${JSON.stringify(this.#unchanged, null, 2)}\n`);
    if (this.commit) {
      if (this.#committed === undefined || this.#change === undefined) return this.table.removeRun(runId);
      await runLog?.record(this.path, runId, this.#change.sha256, true);
    }
    await this.table.tidy(runId, this.options.keep);
  }

  /** Removes everything written by this run, or by this process of a shared one. */
  async abort(): Promise<void> {
    await Promise.all(this.#uploads);
    const { part } = this.context;
    if (!part?.isKept) for (const file of this.#opened) await file.discard();
    await this.scratch?.remove();
    if (part?.isKept) return;
    if (part?.role === 'shard') return this.table.objects.remove(this.#names.map(storedKeyOf));
    const { format } = this.table;
    if (format.link === undefined && format.withdraw ? await format.withdraw() : this.#isUndecided) return;
    // The next run finds the intent, and removes what stays or arrives late of an upload.
    await this.table.removeRun(this.context.runId, this.#failure === undefined).catch(() => undefined);
    await removeFolders(this.made);
  }

  /** Whether no killed run left anything. Only after a commit, which makes theirs fail, may that be removed. */
  async #isAlone(): Promise<boolean> {
    return (await intentsIn(this.table.objects)).every(({ run }) => run === this.context.runId);
  }

  /** Whether a table that this run replaces has the same rows in the same files, none of which was damaged. */
  async #isUnchanged(manifest: Manifest): Promise<boolean> {
    const { before } = this;
    if (this.options.mode !== 'replace' || before === undefined || !isRepeated(before, manifest)) return false;
    const sizes = await this.table.sizes(before.files);
    return before.files.every(({ name, bytes }) => sizes.get(name) === bytes);
  }

  /** Opens a file that becomes an object, where it can stay or in the scratch folder. */
  async #open(key: string): Promise<PartialFile> {
    const { linked, objects } = this.table;
    const permissions = linked && this.options.permissions;
    this.#files += 1;
    const path = linked ? await linked.pathOf(key) : join(this.scratch?.path ?? '', `${this.#files}.parquet`);
    if (linked) {
      const made = await makeFolders(dirname(path), objects.root, permissions, (folder) => this.#changed.add(folder));
      this.made = [...this.made, ...made];
      this.#changed.add(dirname(path));
    }
    const file = await PartialFile.open(path, path, [], permissions);
    this.#opened.add(file);
    return file;
  }

  async #stored(key: string, write: (file: PartialFile) => Promise<void>) {
    const file = await this.#open(key);
    await write(file);
    await file.close();
    await this.#upload(key, file);
    return file.content;
  }

  async #upload(key: string, file: PartialFile): Promise<void> {
    if (this.table.linked) {
      await sha256Of({ path: file.path, ...file.content });
      return;
    }
    await this.table.objects.upload(key, { path: file.path, ...file.content });
    await file.discard();
    this.#opened.delete(file);
  }
}

/**
 * Returns the manifest of the run that a new one begins with. If that keeps files of the table, it vouches for them in its own manifest,
 * so the earlier one is compared with what its run committed, as in `verify`. A table that is not in the log of runs is trusted.
 *
 * @throws {GateError} `E_GATE_VERIFY`. @throws {SinkError} `E_SINK_FOREIGN`.
 */
async function manifestBefore(table: StoreTable, version: FoundVersion, mode: Mode, { at, runLog, warn }: StoreRunContext) {
  const { older, current, lost } = version;
  if (lost !== undefined) return lostBefore(table, lost, mode, { at, warn });
  if (older !== undefined) throw new GateError('E_GATE_VERIFY', `${at}: ${older}`);
  if (current === undefined) return undefined;
  const { text, manifest, isUnchanged } = await table.manifest(current);
  const [of, remedy] = [`the manifest of run ${current.run}`, 'return to an earlier run with leadstream rollback'];
  if (manifest === undefined)
    throw new SinkError('E_SINK_FOREIGN', `${at}: ${of} of ${table.path} cannot be read; ${remedy}, or move the table and its runs away`);
  const { difference } = (mode === 'replace' ? undefined : await runLog?.check(table.path, current.run, text, isUnchanged)) ?? {};
  const fault = mode !== 'replace' && isUnchanged === false ? `${of} was changed` : difference;
  if (fault !== undefined)
    throw new GateError('E_GATE_VERIFY', `${at}: mode ${mode} cannot keep files of the table: ${fault}; see leadstream verify`);
  return withLive(manifest, version);
}

/**
 * A link that is missing although runs were published was lost, as in a backup without links. A run that replaces the whole table warns
 * about it, and keeps the newest that was shown. A run that adds to the table is refused, because it cannot know what to add to.
 */
async function lostBefore(
  table: StoreTable,
  { message, remedy, shown }: NonNullable<FoundVersion['lost']>,
  mode: Mode,
  { at, warn }: Pick<StoreRunContext, 'at' | 'warn'>,
): Promise<Manifest | undefined> {
  if (mode !== 'replace') throw new SinkError('E_SINK_RUN', `${at}: ${message}; ${remedy}`);
  warn?.({ code: 'W_SINK_LINK', message: `${at}: ${message}; the link is created again` });
  return shown && (await table.manifest(shown)).manifest;
}

/** Creates the folders of the intent of a run. @returns Those that are new, outermost first. @throws {SinkError} `E_SINK_PATH`. */
async function reserved({ objects }: StoreTable, run: string, permissions: number): Promise<readonly string[]> {
  if ((await objects.find(manifestKey(run))) !== undefined)
    throw new SinkError('E_SINK_PATH', `cannot write ${objects.root}/${manifestKey(run)}: it belongs to an earlier run`);
  return makeFolders(dirname(join(objects.root, intentKey(run))), objects.root, permissions);
}
