import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SinkError, type OutputColumn, type Refuses } from '../core/index.js';
import type { Encoding, ParquetEngine } from '../parquet/index.js';
import { attempt, makeFolders, removeFolders, type Move } from '../store/index.js';
import type { Batch } from '../vector/index.js';
import { appending, type Appending } from './appending.js';
import { runBefore, type Before } from './before.js';
import { DataFiles, type DataFilesOptions } from './data-files.js';
import { openTo } from './folders.js';
import { KeyIndex } from './key-index.js';
import type { ManifestFile } from './manifest.js';
import type { TableRunContext } from './context.js';
import { checkFit, retained, type Mode } from './modes.js';
import { notForFolder, partitionBy, type Partitioning } from './partitions.js';
import { prune, removeDeadRuns, removeRun } from './prune.js';
import type { Published, RunFacts } from './published.js';
import { indexOf } from './reindex.js';
import { checkRetained } from './retained-files.js';
import { stageKeys, stageManifest, stageRetained, stageSuccess, takenInto } from './stage.js';
import type { Table } from './table.js';

/** How a run changes its table. */
export interface TableRunOptions extends Omit<DataFilesOptions, 'encoding' | 'partitioned'> {
  readonly mode: Mode;
  /** Fields, or the template of the run's date; each one is a level of folders. */
  readonly partition_by: readonly string[];
  readonly success_file: boolean;
  /** Earlier runs that stay, and whether files that are taken over are copied instead of linked. */
  readonly keep: { readonly runs: number; readonly copies: boolean };
}

/** What a table takes. */
export interface TableLayout {
  /** The columns of the batches. */
  readonly columns: readonly OutputColumn[];
  /** Fields that identify a row, for `append`. */
  readonly key: readonly string[];
  /** How files with these columns are encoded: those of the table without the ones that its folders hold. */
  encoding(inFiles: readonly OutputColumn[]): Encoding;
}

/** What all phases of a run know. */
interface Run {
  readonly table: Table;
  readonly engine: ParquetEngine;
  readonly options: TableRunOptions;
  readonly context: TableRunContext;
  readonly before: Before | undefined;
  /** Folders that were made for it, outermost first. */
  readonly made: readonly string[];
}

/** A run of a table whose columns are not known yet. */
export class OpenedRun {
  #begun: BegunRun | undefined;

  private constructor(private readonly run: Run) {}

  /**
   * @throws {SinkError} `E_SINK_FOREIGN`, `E_SINK_PATH` or `E_SINK_RUN`.
   * @throws {GateError} `E_GATE_VERIFY` when files are to be kept that are not what their run wrote.
   */
  static async open(table: Table, engine: ParquetEngine, options: TableRunOptions, context: TableRunContext): Promise<OpenedRun> {
    const before = await runBefore(table, options.mode, context);
    await removeDeadRuns(table);
    const made = await table.makeRun(context.runId, options.permissions);
    return new OpenedRun({ table, engine, options, context, before, made });
  }

  /** What the table is before this run. */
  get earlier(): Published | undefined {
    if (!this.run.before) return undefined;
    const { run_id: runId, rows, schema, undeclared, reads } = this.run.before.manifest;
    return { runId, rows, columns: schema, undeclared, reads };
  }

  /** What values the files or the names of folders cannot hold. */
  readonly refuses: Refuses = (column) => {
    const { engine, options } = this.run;
    const { field, type } = column;
    const byEngine = engine.refuses?.(column);
    return options.partition_by.includes(field) ? (value) => notForFolder(field, value, type) ?? byEngine?.(value) : byEngine;
  };

  /** @throws {SinkError} `E_SINK_VALUE` for columns that cannot be one table. @throws {GateError} `E_GATE_SCHEMA`. */
  async begin(layout: TableLayout): Promise<BegunRun> {
    this.#begun = await BegunRun.begin(this.run, layout);
    return this.#begun;
  }

  /** Removes everything that this run wrote. */
  async abort(): Promise<void> {
    const { table, context, made } = this.run;
    await this.#begun?.discard();
    await removeRun(table, context.runId).catch(() => undefined);
    await removeFolders(made);
  }
}

/** A run that takes rows. */
export class BegunRun {
  private constructor(
    private readonly run: Run,
    private readonly layout: TableLayout,
    private readonly partitioning: Partitioning,
    private readonly files: DataFiles,
    private readonly index: KeyIndex | undefined,
    private readonly appending: Appending | undefined,
  ) {}

  static async begin(run: Run, layout: TableLayout): Promise<BegunRun> {
    const { table, engine, options, context, before } = run;
    const { at, runId } = context;
    const { columns } = layout;
    const partitioning = partitionBy(columns, options.partition_by, context.runDate());
    const inFiles = partitioning.kept.map((index) => columns[index]).filter((column) => column !== undefined);
    refuseTaken(at, inFiles, partitioning.names);
    if (inFiles.length === 0)
      throw new SinkError('E_SINK_VALUE', `${at}: every column is in partition_by, so there is none left for the files`);
    checkFit(at, options.mode, before?.manifest, columns, partitioning.names);
    const key = keyColumns(layout);
    const index = options.mode === 'append' ? await openIndex(run, key) : undefined;
    const files = new DataFiles(table.folder(runId), runId, engine, inFiles, {
      ...options,
      encoding: layout.encoding(inFiles),
      partitioned: partitioning.kept.length < columns.length,
    });
    if (options.mode === 'replace' && partitioning.names.length === 0) await files.begin();
    return new BegunRun(run, layout, partitioning, files, index, index && appending(at, index, columns, key, partitioning.kept));
  }

  /** Resolves when the rows are stored, or wait in a bounded buffer. */
  async write(batch: Batch): Promise<void> {
    for (const part of this.partitioning.split(this.appending?.take(batch) ?? batch)) await this.files.add(part);
  }

  /** Closes, syncs and verifies the files. @throws {GateError} `E_GATE_VERIFY` when files of the table that stay are not what they were. */
  async finish(): Promise<PreparedRun> {
    const { table, options, context, before } = this.run;
    const stays = (written: readonly ManifestFile[]) => retained(options.mode, before?.manifest, written);
    const written = await this.files.finish(stays([]).length === 0 ? allColumns(this.layout.columns, this.partitioning) : undefined);
    const old = stays(written);
    if (options.mode === 'replace_partitions' && before) await checkRetained(context.at, table.folder(before.run), old);
    return new PreparedRun(this.run, {
      columns: this.layout.columns,
      partitions: this.partitioning.names,
      written,
      moves: this.files.moves,
      retained: old,
      unchanged: this.appending?.unchanged ?? 0,
      changed: this.appending?.changed ?? 0,
      index: this.index,
      key: namesOf(keyColumns(this.layout)),
    });
  }

  discard(): Promise<void> {
    return this.files.discard();
  }
}

/** What a run has written. */
interface Written {
  readonly columns: readonly OutputColumn[];
  readonly partitions: readonly string[];
  readonly written: readonly ManifestFile[];
  /** Renames that publish the files. */
  readonly moves: readonly Move[];
  /** Files of the run before that stay in the table. */
  readonly retained: readonly ManifestFile[];
  readonly unchanged: number;
  readonly changed: number;
  readonly index: KeyIndex | undefined;
  readonly key: readonly string[];
}

/** A run whose files are complete; what is missing are a manifest and renames. */
export class PreparedRun {
  readonly rows: number;
  readonly bytes: number;
  /** Rows that the table will hold. */
  readonly total: number;
  readonly unchanged: number;
  readonly changed: number;
  readonly path: string;

  constructor(
    private readonly run: Run,
    private readonly done: Written,
  ) {
    this.rows = sum(done.written, 'rows');
    this.bytes = sum(done.written, 'bytes');
    this.total = this.rows + sum(done.retained, 'rows');
    this.unchanged = done.unchanged;
    this.changed = done.changed;
    this.path = run.table.path;
  }

  /** Writes the manifest. @returns The renames that publish the run, in order; the link comes last but for what makes way. */
  async publication(facts: RunFacts): Promise<readonly Move[]> {
    const { table, options, context, before } = this.run;
    const { runId } = context;
    const { permissions } = options;
    const { columns, partitions, written, moves, index, key } = this.done;
    const folder = table.folder(runId);
    const taken = takenInto(runId, this.done.retained, written.length);
    const links = before ? await stageRetained(table.folder(before.run), folder, taken, { permissions, copies: options.keep.copies }) : [];
    const keys = index && (await stageKeys(table.keysPath(runId), index, key, permissions));
    const all = [...taken.map(({ file }) => file), ...written].sort((a, b) => (a.name < b.name ? -1 : 1));
    const success = options.success_file ? [await stageSuccess(folder, permissions)] : [];
    const [manifest, text] = await stageManifest(table.manifestPath(runId), permissions, {
      ...describe(facts),
      run_id: runId,
      mode: options.mode,
      replaced: before?.run,
      partition_by: [...partitions],
      rows: sum(all, 'rows'),
      bytes: sum(all, 'bytes'),
      run: { written: this.rows, unchanged: this.unchanged, changed: this.changed },
      files: all,
      schema: columns.map((column) => ({ ...column })),
      keys: keys?.entry,
      output: context.at,
      success_file: options.success_file,
    });
    await context.runLog?.record(table.path, runId, text);
    const files = [...links, ...moves, ...success, ...(keys ? [keys.move] : []), manifest];
    return [...files, await table.linkTo(runId), ...(await table.expire(before?.run))];
  }

  /** Removes the runs that are kept no longer. */
  settle(): Promise<void> {
    const { table, context, before, options } = this.run;
    return prune(table, context.runId, before?.run, options.keep.runs);
  }

  /** Instead of a publication: puts the files where a person can look at them. @returns Where they are. */
  async setAside(): Promise<string> {
    const { table, context, options } = this.run;
    const folder = table.folder(context.runId);
    const aside = join(table.refused, context.runId);
    await makeFolders(table.refused, dirname(table.path));
    await openTo(table.refused, options.permissions);
    await attempt('E_SINK_WRITE', `cannot put ${folder} aside`, () => rename(folder, aside));
    return aside;
  }
}

/** Readers see folders and files as one table. */
function refuseTaken(at: string, inFiles: readonly OutputColumn[], partitions: readonly string[]): void {
  partitions.forEach((partition, index) => {
    const others = [...namesOf(inFiles), ...partitions.slice(index + 1)];
    const taken = others.find((name) => name.toLowerCase() === partition.toLowerCase());
    if (taken !== undefined)
      throw new SinkError('E_SINK_VALUE', `${at}: the partition ${partition} and the column ${taken} have one name; rename one`);
  });
}

async function openIndex({ table, before }: Run, key: readonly OutputColumn[]): Promise<KeyIndex> {
  return before ? indexOf(table, before.run, before.manifest, namesOf(key)) : new KeyIndex();
}

function keyColumns({ columns, key }: TableLayout): readonly OutputColumn[] {
  return columns.filter(({ field }) => key.includes(field));
}

/** Those of the files, then those of the folders. */
function allColumns(columns: readonly OutputColumn[], { kept, columns: partitions }: Partitioning): readonly OutputColumn[] {
  return [...columns.filter((_, index) => kept.includes(index)), ...partitions];
}

function namesOf(columns: readonly OutputColumn[]): readonly string[] {
  return columns.map(({ name }) => name);
}

function describe(facts: RunFacts) {
  return {
    version: 1 as const,
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
  };
}

function sum(files: readonly ManifestFile[], what: 'rows' | 'bytes'): number {
  return files.reduce((total, file) => total + file[what], 0);
}
