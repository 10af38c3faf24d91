import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { amount, amountOf, GateError, SinkError } from '../core/index.js';
import {
  type Action,
  attempt,
  closing,
  linked,
  makeFolders,
  openRegular,
  PartialFile,
  readRegular,
  removeFolders,
  type RenameAction,
  sha256File,
} from '../store/index.js';
import { type Landing, type LandingContext, type LandingOptions, manifestBefore, type Publication } from './landing.js';
import { dataFileNameOf, isRepeated, type Manifest, type ManifestFile } from './manifest.js';
import { partialEnding, prune, removeDeadRuns, removeRun, successName, type Table } from './table.js';

/** A run in a folder of its own on this machine; a link to that folder is the table. */
export class LinkedRun implements Landing {
  readonly kind = 'plain';
  readonly #files: PartialFile[] = [];

  private constructor(
    private readonly table: Table,
    private readonly options: LandingOptions,
    private readonly context: LandingContext,
    readonly before: Manifest | undefined,
    /** The folders that were created for it, outermost first. */
    private readonly made: readonly string[],
  ) {}

  /**
   * @throws {SinkError} `E_SINK_FOREIGN`, `E_SINK_PATH` or `E_SINK_RUN`.
   * @throws {GateError} `E_GATE_VERIFY` when files to be kept are not what their run wrote.
   */
  static async open(table: Table, options: LandingOptions, context: LandingContext): Promise<LinkedRun> {
    const { mode, permissions } = options;
    const run = await table.published();
    const before = await (run === undefined ? lost(table, mode, context) : manifestBefore(table, await table.version(), mode, context));
    if (run !== undefined && mode !== 'replace') await table.refuseLinksIn(run);
    await removeDeadRuns(table);
    return new LinkedRun(table, options, context, before, await table.makeRun(context.runId, permissions));
  }

  get path(): string {
    return this.table.path;
  }

  get #folder(): string {
    return this.table.folder(this.context.runId);
  }

  async create(folder: string, index: number) {
    const name = join(folder, dataFileNameOf(this.context.runId, index));
    const path = join(this.#folder, name);
    await makeFolders(dirname(path), this.#folder, this.options.permissions);
    const file = await staged(path, this.options.permissions);
    this.#files.push(file);
    return { name, file };
  }

  async keys(): Promise<Buffer | undefined> {
    return this.before && readRegular(this.table.keysPath(this.before.run_id)).catch(() => undefined);
  }

  reading<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    return work(join(this.table.folder(this.before?.run_id ?? this.context.runId), name));
  }

  /**
   * Checks that they are regular, and have the right size and the start and end of a Parquet file. `verify` compares digests: here that would mean reading the
   * whole table in every run.
   */
  async checkRetained(files: readonly ManifestFile[]): Promise<void> {
    for (const { name, bytes } of files)
      await this.reading(name, async (path) => {
        const fault = await retainedFault(path, bytes).catch((thrown: unknown) => `cannot be read: ${String(thrown)}`);
        if (fault === undefined) return;
        throw new GateError('E_GATE_VERIFY', `${this.context.at}: ${path} ${fault}, so it is not reused; see leadstream verify`);
      });
  }

  /** Writes the manifest. @returns The actions, in order. The link comes last, except for the expiry of the previous run. */
  async publish({ retained, storeKeys, manifest: manifestWith }: Publication): Promise<readonly Action[]> {
    const { table, before } = this;
    const { permissions } = this.options;
    const { runId, runLog } = this.context;
    const kept = before ? await stageRetained(table.folder(before.run_id), this.#folder, retained, permissions) : [];
    const keys = storeKeys && (await written(table.keysPath(runId), permissions, storeKeys));
    const made = manifestWith(keys?.content);
    // One that repeats the run before takes its place: `prune` does not keep that.
    const manifest = before && isRepeated(before, made) ? { ...made, replaced: before.replaced } : made;
    const empty = manifest.success_file ? [(await written(join(this.#folder, successName), permissions)).action] : [];
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const described = await written(table.manifestPath(runId), permissions, (file) => file.append(text));
    await runLog?.record(table.path, runId, described.content.sha256);
    const staging = [...kept, ...this.#files.map(({ action }) => action), ...empty, ...(keys ? [keys.action] : []), described.action];
    return [...staging, await table.linkTo(runId), ...(before ? await table.expire(before.run_id) : [])];
  }

  /** Removes the runs that are no longer kept. */
  cleanup(): Promise<void> {
    return prune(this.table, this.context.runId, this.options.keep);
  }

  async abort(): Promise<void> {
    for (const file of this.#files) await file.discard();
    await removeRun(this.table, this.context.runId).catch(() => undefined);
    await removeFolders(this.made);
  }
}

/**
 * Handles a missing link. If runs were published, it was lost, as in a backup without links. A run that replaces the whole table warns about it and
 * expires the newest of them, which is kept as after any run. A run that adds to the table is refused, because it cannot know what to add to.
 */
async function lost(table: Table, mode: LandingOptions['mode'], { at, warn }: LandingContext): Promise<Manifest | undefined> {
  const runs = await table.runsWithManifest();
  if (runs.length === 0) return undefined;
  const said = `${at}: ${table.path} is no longer a link to a run, but ${table.runsFolder} has runs (${runs.join(', ')})`;
  if (mode !== 'replace') {
    const remedy = `publish one of them again with leadstream rollback ${table.path} --to RUN`;
    throw new SinkError('E_SINK_RUN', `${said}; ${remedy}, or remove ${table.runsFolder} to start a new table`);
  }
  warn?.({ code: 'W_SINK_LINK', message: `${said}; the link is created again` });
  return (await table.runs()).find(({ isShown }) => isShown)?.manifest;
}

/**
 * Puts files of the earlier run into the new one under their names, which never change: as hard links where possible. Files with other permissions are copied,
 * since all names of a file share them.
 *
 * @param from Folder of the earlier run; `to` is that of the new one.
 * @throws {SinkError} `E_SINK_VERIFY` when a copied file does not match the earlier manifest.
 */
async function stageRetained(from: string, to: string, files: readonly ManifestFile[], permissions: number) {
  const actions: RenameAction[] = [];
  for (const file of files) {
    const [source, path] = [join(from, file.name), join(to, file.name)];
    await makeFolders(dirname(path), to, permissions);
    const isLinked = await attempt('E_SINK_WRITE', `cannot retain ${path}`, async () => {
      const { mode } = await lstat(source);
      return (mode & 0o777) === permissions && (await linked(source, path + partialEnding));
    });
    actions.push(
      isLinked
        ? { action: 'rename', from: path + partialEnding, to: path, file: { bytes: file.bytes } }
        : await copied(source, path, file, permissions),
    );
  }
  return actions;
}

async function copied(from: string, path: string, { sha256 }: ManifestFile, permissions: number): Promise<RenameAction> {
  const copy = await written(path, permissions, (file) =>
    attempt('E_SINK_WRITE', `cannot copy ${from}`, async () => {
      for await (const chunk of createReadStream(from, { highWaterMark: 1024 * 1024 })) await file.append(chunk as Buffer);
    }),
  );
  if ((await sha256File(copy.path)) !== sha256)
    throw new SinkError('E_SINK_VERIFY', `${from}: its contents differ from its manifest (SHA-256), so it is not reused`);
  return copy.action;
}

function staged(path: string, permissions: number): Promise<PartialFile> {
  return PartialFile.open(path + partialEnding, path, [], permissions);
}

/** Writes a file of a run under a name that readers ignore; its action gives it its final one. */
async function written(path: string, permissions: number, write?: (file: PartialFile) => Promise<void>): Promise<PartialFile> {
  const file = await staged(path, permissions);
  await write?.(file);
  await file.close();
  return file;
}

async function retainedFault(path: string, bytes: number): Promise<string | undefined> {
  return closing(await openRegular(path), async (file) => {
    const { size } = await file.stat();
    if (size !== bytes) return `has ${amountOf(size, 'byte')}, but its manifest says ${amount(bytes)}`;
    const ends = Buffer.alloc(8);
    await file.read(ends, 0, 4, 0);
    await file.read(ends, 4, 4, Math.max(0, bytes - 4));
    return ends.toString('latin1') === 'PAR1PAR1' ? undefined : 'is not a Parquet file';
  });
}
