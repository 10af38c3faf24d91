import { dirname, join } from 'node:path';
import { GateError, itemAt, SinkError, type OutputColumn, type Refuses, type Warning } from '../core/index.js';
import type { Encoding, ParquetEngine } from '../parquet/index.js';
import { removeFolders, type Action } from '../store/index.js';
import type { Batch } from '../vector/index.js';
import { DataFiles, type DataFilesOptions, checkRetained, stageRetained, written } from './data-files.js';
import { Appending, indexOf } from './keys.js';
import { dataFileNameOf, loadManifest, type Manifest, type ManifestFile, type modes, type Published, type RunFacts } from './manifest.js';
import { notForFolder, partitionBy, type Partitioning } from './partitions.js';
import type { RunLog } from './run-log.js';
import { prune, removeDeadRuns, removeRun, successName, type Table } from './table.js';

type Mode = (typeof modes)[number];

/** How a run changes its table. */
export interface TableRunOptions extends Omit<DataFilesOptions, 'encoding' | 'partitioned'> {
  readonly mode: Mode;
  /** Fields, or the template of the run's date; each is a level of folders. */
  readonly partition_by: readonly string[];
  readonly success_file: boolean;
  readonly keep: number;
}

export interface TableRunContext {
  readonly at: string;
  readonly runId: string;
  readonly runLog?: RunLog | undefined;
  readonly warn?: ((warning: Warning) => void) | undefined;
  runDate(): string;
}

export interface TableLayout {
  readonly columns: readonly OutputColumn[];
  /** Fields that identify a row, for `append`. */
  readonly key: readonly string[];
  readonly encoding: Encoding;
}

/** What all phases of a run know. */
interface Run {
  readonly table: Table;
  readonly engine: ParquetEngine;
  readonly options: TableRunOptions;
  readonly context: TableRunContext;
  readonly before: Before | undefined;
}

/** A run of a table whose columns are not known yet. */
export class OpenedRun {
  #files: DataFiles | undefined;

  private constructor(
    private readonly run: Run,
    /** The folders that were created for it, outermost first. */
    private readonly made: readonly string[],
  ) {}

  /**
   * @throws {SinkError} `E_SINK_FOREIGN`, `E_SINK_PATH` or `E_SINK_RUN`.
   * @throws {GateError} `E_GATE_VERIFY` when files to be kept are not what their run wrote.
   */
  static async open(table: Table, engine: ParquetEngine, options: TableRunOptions, context: TableRunContext): Promise<OpenedRun> {
    const before = await runBefore(table, options.mode, context);
    await removeDeadRuns(table);
    const made = await table.makeRun(context.runId, options.permissions);
    return new OpenedRun({ table, engine, options, context, before }, made);
  }

  /** The table before this run. */
  get earlier(): Published | undefined {
    if (!this.run.before) return undefined;
    const { run_id: runId, rows, schema, undeclared, reads, partial = false } = this.run.before.manifest;
    return { runId, rows, columns: schema, undeclared, reads, partial };
  }

  /** Checks which values the files or the names of folders cannot hold. */
  readonly refuses: Refuses = (column) => {
    const { engine, options } = this.run;
    const { field, type } = column;
    const byEngine = engine.refuses?.(column);
    return options.partition_by.includes(field) ? (value) => notForFolder(field, value, type) ?? byEngine?.(value) : byEngine;
  };

  /** @throws {SinkError} `E_SINK_VALUE` for columns that cannot form one table. @throws {GateError} `E_GATE_SCHEMA`. */
  async begin({ columns, key: fields, encoding }: TableLayout): Promise<BegunRun> {
    const { engine, options, context, before, table } = this.run;
    const { at, runId } = context;
    const partitioning = partitionBy(columns, options.partition_by, context.runDate());
    const { kept, names } = partitioning;
    const inFiles = kept.map((index) => itemAt(columns, index));
    refuseTaken(at, inFiles, names);
    if (inFiles.length === 0) throw new SinkError('E_SINK_VALUE', `${at}: every column is in partition_by, so none is left for the files`);
    checkFit(at, options.mode, before?.manifest, columns, names);
    const key = columns.filter(({ field }) => fields.includes(field));
    const appending =
      options.mode === 'append' ? new Appending(at, await indexOf(table, before, namesOf(key)), columns, key, kept) : undefined;
    const partitioned = kept.length < columns.length;
    this.#files = new DataFiles(table.folder(runId), runId, engine, inFiles, { ...options, encoding, partitioned });
    if (options.mode === 'replace' && names.length === 0) await this.#files.begin();
    return new BegunRun(this.run, columns, namesOf(key), partitioning, this.#files, appending);
  }

  /** Removes everything written by this run. */
  async abort(): Promise<void> {
    await this.#files?.discard();
    await removeRun(this.run.table, this.run.context.runId).catch(() => undefined);
    await removeFolders(this.made);
  }
}

/** A run that takes rows. */
class BegunRun {
  constructor(
    private readonly run: Run,
    private readonly columns: readonly OutputColumn[],
    private readonly key: readonly string[],
    private readonly partitioning: Partitioning,
    private readonly files: DataFiles,
    private readonly appending: Appending | undefined,
  ) {}

  /** Resolves when the rows are stored, or wait in a bounded buffer. */
  async write(batch: Batch): Promise<void> {
    const added = this.appending?.take(batch) ?? batch;
    await this.files.add(this.partitioning.split(added), added.rows);
  }

  /** Closes, syncs and verifies the files. @throws {GateError} `E_GATE_VERIFY` when retained files of the table have changed. */
  async prepare() {
    const { columns, partitioning, files, appending } = this;
    const { table, options, context, before } = this.run;
    const { runId } = context;
    const stays = (added: readonly ManifestFile[]) => retained(options.mode, before?.manifest, added);
    // A file without rows has the columns of the folders, too.
    const all = [...partitioning.kept.map((index) => itemAt(columns, index)), ...partitioning.columns];
    const added = await files.finish(stays([]).length === 0 ? all : undefined);
    const old = stays(added);
    if (options.mode === 'replace_partitions' && before) await checkRetained(context.at, table.folder(before.run), old);
    const rows = sum(added, 'rows');
    return {
      ...{ path: table.path, rows, bytes: sum(added, 'bytes'), total: rows + sum(old, 'rows') },
      ...{ unchanged: appending?.unchanged ?? 0, changed: appending?.changed ?? 0 },
      /** Writes the manifest. @returns The actions that commit the run, in order. The link comes last, except for the expiry of the previous run. */
      actions: (facts: RunFacts) => this.#actions(facts, added, old),
      /** Removes the runs that are no longer kept. */
      cleanup: () => prune(table, runId, before?.run, options.keep),
    };
  }

  async #actions(facts: RunFacts, added: readonly ManifestFile[], old: readonly ManifestFile[]): Promise<readonly Action[]> {
    const { table, options, context, before } = this.run;
    const { runId } = context;
    const { permissions } = options;
    const { columns, partitioning, appending, key } = this;
    const folder = table.folder(runId);
    const nameOf = (index: number) => dataFileNameOf(runId, added.length + index);
    const kept = before && (await stageRetained(table.folder(before.run), folder, old, nameOf, permissions));
    const keys = appending && (await written(table.keysPath(runId), permissions, (file) => appending.index.store(file)));
    const all = [...(kept?.files ?? []), ...added].sort((a, b) => (a.name < b.name ? -1 : 1));
    const success = options.success_file ? [(await written(join(folder, successName), permissions)).action] : [];
    // Rows added to a complete table, or replacing partitions of it, do not make it partial.
    const partial = facts.partial === true && (options.mode === 'replace' || !before || before.manifest.partial === true);
    const content: Manifest = {
      version: 1,
      pipeline: facts.pipeline,
      fingerprint: facts.fingerprint,
      collection: facts.collection,
      started_at: facts.startedAt,
      finished_at: new Date().toISOString(),
      pages: facts.pages,
      consistency: facts.consistency,
      undeclared: [...(facts.undeclared ?? [])],
      reads: { ...facts.reads },
      books: { ...facts.books },
      ...(partial ? { partial } : {}),
      run_id: runId,
      mode: options.mode,
      replaced: before?.run,
      partition_by: [...partitioning.names],
      rows: sum(all, 'rows'),
      bytes: sum(all, 'bytes'),
      run: { written: sum(added, 'rows'), unchanged: appending?.unchanged ?? 0, changed: appending?.changed ?? 0 },
      files: all,
      schema: columns.map((column) => ({ ...column })),
      keys: keys && { columns: [...key], rows: appending.index.rows, ...keys.content },
      output: context.at,
      success_file: options.success_file,
    };
    const text = `${JSON.stringify(content, null, 2)}\n`;
    const manifest = await written(table.manifestPath(runId), permissions, (file) => file.append(text));
    await context.runLog?.record(table.path, runId, text);
    const staging = [...(kept?.actions ?? []), ...this.files.actions, ...success, ...(keys ? [keys.action] : []), manifest.action];
    return [...staging, await table.linkTo(runId), ...(await table.expire(before?.run))];
  }
}

interface Before {
  readonly run: string;
  readonly manifest: Manifest;
}

/**
 * Finds the published run. A new one that keeps files of the table vouches for them in its own manifest, so the earlier manifest is checked against the log
 * of runs, as in `verify`, and the files against the manifest, as in `checkRetained`. A table that is not in the log is trusted.
 */
async function runBefore(table: Table, mode: Mode, context: TableRunContext): Promise<Before | undefined> {
  const { at, runLog } = context;
  const run = await table.published();
  if (run === undefined) return lost(table, mode, context);
  const { text, manifest } = await loadManifest(table.manifestPath(run));
  if (text === undefined || manifest?.run_id !== run) {
    const remedy = `return to an earlier run with leadstream rollback, or move ${table.path} and its run away`;
    throw new SinkError('E_SINK_FOREIGN', `${at}: the manifest of ${table.folder(run)} cannot be read; ${remedy}`);
  }
  if (mode === 'replace') return { run, manifest };
  await table.refuseLinksIn(run);
  const { difference } = (await runLog?.check(table.path, run, text)) ?? {};
  if (difference !== undefined)
    throw new GateError('E_GATE_VERIFY', `${at}: mode ${mode} cannot keep files of the table: ${difference}; see leadstream verify`);
  if (mode === 'append') await checkRetained(at, table.folder(run), retained(mode, manifest, []));
  return { run, manifest };
}

/**
 * Handles a missing link. If runs were published, it was lost, as in a backup without links. A run that replaces the whole table warns about it and
 * expires the newest of them, which is kept as after any run. A run that adds to the table is refused, because it cannot know what to add to.
 */
async function lost(table: Table, mode: Mode, { at, warn }: TableRunContext): Promise<Before | undefined> {
  const runs = await table.runsWithManifest();
  if (runs.length === 0) return undefined;
  const said = `${at}: ${table.path} is no longer a link to a run, but ${table.runs} has runs (${runs.join(', ')})`;
  if (mode !== 'replace') {
    const remedy = `publish one of them again with leadstream rollback ${table.path} --to RUN, or remove ${table.runs} to start a new table`;
    throw new SinkError('E_SINK_RUN', `${said}; ${remedy}`);
  }
  warn?.({ code: 'W_SINK_LINK', message: `${said}; the link is created again` });
  for (const run of runs.toReversed()) {
    const manifest = await table.manifest(run);
    if (manifest && (await table.hasAll(run, ''))) return { run, manifest };
  }
  return undefined;
}

/** Returns the files of the earlier run that stay in the table with those of this run. */
function retained(mode: Mode, before: Manifest | undefined, files: readonly ManifestFile[]): readonly ManifestFile[] {
  if (mode === 'replace' || before === undefined) return [];
  if (mode === 'append') return before.files.filter(({ rows }) => rows > 0);
  const replaced = new Set(files.map(({ name }) => dirname(name)));
  return before.files.filter(({ name, rows }) => rows > 0 && !replaced.has(dirname(name)));
}

/** Checks that this run has the partitions of the earlier one, and its columns in the same types. @throws {GateError} `E_GATE_SCHEMA`. */
function checkFit(at: string, mode: Mode, before: Manifest | undefined, columns: readonly OutputColumn[], partitions: readonly string[]) {
  if (mode === 'replace' || before === undefined) return;
  const now = new Map(columns.map(({ name, type }) => [name, type]));
  const problems = before.schema.flatMap(({ name, type }) => {
    const found = now.get(name);
    if (found === undefined) return [`the table has the column ${name}, but this run does not`];
    return found === type ? [] : [`the column ${name} is ${type} in the table and ${found} in this run`];
  });
  if (before.partition_by.join() !== partitions.join())
    problems.push(`the table is partitioned by ${listed(before.partition_by)}, this run by ${listed(partitions)}`);
  if (problems.length === 0) return;
  throw new GateError('E_GATE_SCHEMA', `${at}: mode ${mode} cannot keep files of the table: ${problems.join('; ')}`);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ');
}

/** Refuses names shared by files and folders, which readers see as one table. */
function refuseTaken(at: string, inFiles: readonly OutputColumn[], partitions: readonly string[]): void {
  partitions.forEach((partition, index) => {
    const others = [...namesOf(inFiles), ...partitions.slice(index + 1)];
    const taken = others.find((name) => name.toLowerCase() === partition.toLowerCase());
    if (taken !== undefined)
      throw new SinkError('E_SINK_VALUE', `${at}: the partition ${partition} and the column ${taken} have the same name; rename one`);
  });
}

function namesOf(columns: readonly OutputColumn[]): readonly string[] {
  return columns.map(({ name }) => name);
}

function sum(files: readonly ManifestFile[], what: 'rows' | 'bytes'): number {
  return files.reduce((total, file) => total + file[what], 0);
}
