import { join } from 'node:path';
import { amount, GateError, type OutputColumn, reasonOf, SinkError } from '../core/index.js';
import { type Action, attempt, isLocked, isRemote, PartialFile, removeFile, ScratchFolder } from '../store/index.js';
import type { FieldIds, FoundVersion, TableChange, TableVersion } from './format.js';
import { type Landing, type LandingContext, type LandingOptions, manifestBefore, type Publication } from './landing.js';
import { isRepeated, storedNameOf, type Manifest, type ManifestFile } from './manifest.js';
import type { PartitionField, TableKind } from './partitions.js';
import { intentKey, keysKey, manifestKey, type Intent, type StoreTable } from './store-table.js';

/** Number of files that are uploaded at a time. */
const maxUploads = 4;

/** A run of a table on a store. Its files are finished and verified in a scratch folder of this machine, uploaded, and removed there. */
export class StoreRun implements Landing {
  readonly #uploads = new Set<Promise<void>>();
  #failure: unknown;
  #files = 0;
  #change: TableChange | undefined;
  #committed: TableVersion | undefined;
  /** Whether a commit was attempted whose outcome is unknown, so that nothing may be removed. */
  #isUndecided = false;

  private constructor(
    private readonly table: StoreTable,
    private readonly options: LandingOptions,
    private readonly context: LandingContext,
    private readonly scratch: ScratchFolder,
    private readonly base: TableVersion | undefined,
    readonly before: Manifest | undefined,
  ) {}

  /**
   * @param folder Private folder of this machine, for files that are not yet uploaded.
   * @throws {SinkError} `E_SINK_FOREIGN` if something else is there.
   * @throws {GateError} `E_GATE_VERIFY` for a version that is not the newest; when files are to be kept, and the manifest is not the one that its run wrote.
   */
  static async open(table: StoreTable, options: LandingOptions, context: LandingContext, folder: string): Promise<StoreRun> {
    await table.format.show?.();
    let base: FoundVersion | undefined = await table.load(context.runLog);
    if (base === undefined) {
      // Another run may have begun the table in the meantime.
      await table.refuseForeign().catch(async (failure: unknown) => {
        if ((await table.format.load()) === undefined) throw failure;
      });
      await table.format.create?.();
      base = await table.format.load();
    }
    const before = base && (await manifestBefore(table, base, options.mode, context));
    if (base) table.format.check?.(base, options.mode);
    if (base && base.current === undefined && base.files.length > 0) {
      const fault = `other programs removed what ${table.path} knew of its last run`;
      if (options.mode !== 'replace') throw new SinkError('E_SINK_FOREIGN', `${context.at}: ${fault}; run once with mode: replace`);
      context.warn?.({ code: 'W_SINK_FOREIGN', message: `${fault}; this run replaces the rows that they left` });
    }
    const scratch = await attempt('E_SINK_PATH', `cannot create a folder in ${folder}`, () => ScratchFolder.open(folder));
    const intent: Intent = { version: 1, run: context.runId, base: base?.sequence ?? -1, started_at: new Date().toISOString() };
    try {
      await table.objects.put(intentKey(context.runId), `${JSON.stringify(intent)}\n`);
    } catch (failure) {
      await scratch.remove();
      throw failure;
    }
    return new StoreRun(table, options, context, scratch, base, before);
  }

  get path(): string {
    return this.table.path;
  }

  get kind(): TableKind {
    return this.table.format.kind;
  }

  checkColumns(columns: readonly OutputColumn[], partitions: readonly PartitionField[]): FieldIds | undefined {
    return this.table.format.checkColumns?.(this.base, columns, partitions);
  }

  async create(folder: string, index: number) {
    const isViewed = this.kind === 'plain' && !isRemote(this.path);
    return { name: storedNameOf(this.context.runId, folder, index, isViewed), file: await this.#local() };
  }

  /** Returns while up to `maxUploads` files are on their way; a failure is reported by a later call. */
  async take(name: string, file: PartialFile): Promise<void> {
    while (this.#uploads.size >= maxUploads) await Promise.race(this.#uploads);
    if (this.#failure !== undefined) throw this.#failure;
    const upload: Promise<void> = this.#upload(name, file)
      .catch((failure: unknown) => void (this.#failure ??= failure))
      .finally(() => this.#uploads.delete(upload));
    this.#uploads.add(upload);
  }

  async keys(): Promise<Buffer | undefined> {
    return this.before && (await this.table.objects.read(keysKey(this.before.run_id)))?.bytes;
  }

  async reading<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    return withCopy(this.table, name, this.scratch, work);
  }

  /** Compares sizes. `verify` compares digests: here that would mean reading the whole table in every run. */
  async checkRetained(files: readonly ManifestFile[]): Promise<void> {
    if (files.length === 0) return;
    const sizes = await this.table.sizes(files);
    const wrong = files.find(({ name, bytes }) => sizes.get(name) !== bytes);
    if (wrong === undefined) return;
    const found = sizes.get(wrong.name);
    const fault = found === undefined ? 'is missing' : `has ${amount(found)} bytes, but its manifest says ${amount(wrong.bytes)}`;
    throw new GateError('E_GATE_VERIFY', `${this.context.at}: ${this.path}/${wrong.name} ${fault}; see leadstream verify`);
  }

  async publish({ columns, partitions, added, retained, storeKeys, manifest: manifestWith }: Publication): Promise<readonly Action[]> {
    await Promise.all(this.#uploads);
    if (this.#failure !== undefined) throw this.#failure;
    const { runId, runLog } = this.context;
    const keys = storeKeys && (await this.#stored(keysKey(runId), storeKeys));
    const manifest = manifestWith(keys);
    // What killed runs left is removed after a commit, by which theirs can only be refused.
    if ((await this.#isUnchanged(manifest)) && (await this.table.intents()).every(({ run }) => run === runId)) {
      this.table.format.announce?.(runId, this.base, undefined);
      return [];
    }
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const { sha256 } = await this.#stored(manifestKey(runId), (file) => file.append(text));
    await runLog?.record(this.path, runId, sha256);
    const stay = new Set(retained.map(({ name }) => name));
    const removed = (this.base?.files ?? []).flatMap(({ name }) => (stay.has(name) ? [] : [name]));
    this.#change = { runId, manifest, sha256, columns, partitions, added, removed, keep: this.options.keep };
    this.table.format.announce?.(runId, this.base, this.#change);
    return [];
  }

  async commit(): Promise<void> {
    const { format } = this.table;
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

  async cleanup(): Promise<void> {
    await this.scratch.remove();
    if (this.#committed === undefined || this.#change === undefined) return this.table.removeRun(this.context.runId);
    await this.context.runLog?.record(this.path, this.context.runId, this.#change.sha256, true);
    await this.table.objects.remove([intentKey(this.context.runId)]);
    if (!this.table.objects.signal?.aborted) await this.table.tidy(this.options.keep);
  }

  async abort(): Promise<void> {
    await Promise.all(this.#uploads);
    await this.scratch.remove();
    const { format } = this.table;
    if (format.withdraw ? await format.withdraw() : this.#isUndecided) return;
    // What stays, or arrives yet of an upload that was cut, is removed by the next run, which finds the intent.
    await this.table.removeRun(this.context.runId, this.#failure === undefined).catch(() => undefined);
  }

  /** Whether a table that this run replaces has the same rows in the same files, none of which was damaged. */
  async #isUnchanged(manifest: Manifest): Promise<boolean> {
    const { before } = this;
    if (this.options.mode !== 'replace' || before === undefined || !isRepeated(before, manifest)) return false;
    const sizes = await this.table.sizes(before.files);
    return before.files.every(({ name, bytes }) => sizes.get(name) === bytes);
  }

  async #local(): Promise<PartialFile> {
    this.#files += 1;
    const path = join(this.scratch.path, `${this.#files}.parquet`);
    return PartialFile.open(path, path);
  }

  async #stored(key: string, write: (file: PartialFile) => Promise<void>) {
    const file = await this.#local();
    await write(file);
    await file.close();
    await this.#upload(key, file);
    return file.content;
  }

  async #upload(key: string, file: PartialFile): Promise<void> {
    await this.table.objects.upload(key, { path: file.path, ...file.content });
    await file.discard();
  }
}

/** Works with a copy of an object on this machine. */
export async function withCopy<T>(table: StoreTable, key: string, scratch: ScratchFolder, work: (path: string) => Promise<T>): Promise<T> {
  const path = join(scratch.path, 'copy.parquet');
  await table.objects.download(key, path);
  try {
    return await work(path);
  } finally {
    await removeFile(path);
  }
}
