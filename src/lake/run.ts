import { GateError, SinkError, type OutputColumn, type Refuses } from '../core/index.js';
import type { Encoding, ParquetEngine } from '../parquet/index.js';
import type { Action, FileContent } from '../store/index.js';
import type { Batch } from '../vector/index.js';
import { DataFiles, type DataFilesOptions } from './data-files.js';
import type { AddedFile } from './format.js';
import { Appending, indexOf } from './keys.js';
import { folderOf, type Manifest, type ManifestFile, type Published, type RunFacts, sumOf } from './manifest.js';
import { notForFolder, partitionBy, type Partitioning } from './partitions.js';
import type { Mode, StoreRun, StoreRunContext, StoreRunOptions } from './store-run.js';

/** How a run changes its table. */
export interface TableRunOptions extends StoreRunOptions, Omit<DataFilesOptions, 'encoding' | 'partitioned' | 'valuesOf'> {
  /** Fields, or the template of the run's date; each is a level of folders. */
  readonly partition_by: readonly string[];
  readonly success_file: boolean;
}

export interface TableRunContext extends StoreRunContext {
  runDate(): string;
}

/** What all phases of a run know. */
interface Run {
  readonly landing: StoreRun;
  readonly engine: ParquetEngine;
  readonly options: TableRunOptions;
  readonly context: TableRunContext;
}

/** A run of a table whose columns are not known yet. */
export class OpenedRun {
  #files: DataFiles | undefined;

  private constructor(private readonly run: Run) {}

  /** @throws {GateError} `E_GATE_VERIFY` when files to be kept are not what their run wrote. */
  static async open(landing: StoreRun, engine: ParquetEngine, options: TableRunOptions, context: TableRunContext): Promise<OpenedRun> {
    try {
      if (options.mode === 'append') await landing.checkRetained(retained(options.mode, landing.before, []));
    } catch (failure) {
      await landing.abort();
      throw failure;
    }
    return new OpenedRun({ landing, engine, options, context });
  }

  /** The table before this run. */
  get earlier(): Published | undefined {
    const { before } = this.run.landing;
    if (!before) return undefined;
    const { run_id: runId, rows, schema, undeclared, reads, partial = false } = before;
    return { runId, rows, columns: schema, undeclared, reads, partial };
  }

  /** Checks which values the files or the names of folders cannot hold. */
  readonly refuses: Refuses = (column) => {
    const { engine, options, landing } = this.run;
    const { field, type } = column;
    const byEngine = engine.refuses?.(column);
    return options.partition_by.includes(field) ? (value) => notForFolder(field, value, type, landing.kind) ?? byEngine?.(value) : byEngine;
  };

  /**
   * @param fields Those that identify a row, for `append`.
   * @throws {SinkError} `E_SINK_VALUE` for columns that cannot form one table. @throws {GateError} `E_GATE_SCHEMA`.
   */
  async begin(columns: readonly OutputColumn[], fields: readonly string[], encoding: Encoding): Promise<BegunRun> {
    const { engine, options, context, landing } = this.run;
    const { at, runId } = context;
    const partitioning = partitionBy(columns, options.partition_by, context.runDate(), landing.kind);
    const { inFiles, names } = partitioning;
    const inFolders = partitioning.columns.slice(inFiles.length);
    const results = partitioning.fields.filter(({ transform }) => transform !== 'identity');
    refuseSameName(
      at,
      inFiles,
      [...inFolders, ...results].map(({ name }) => name),
    );
    if (inFiles.length === 0) throw new SinkError('E_SINK_VALUE', `${at}: every column is in partition_by, so none is left for the files`);
    checkFit(at, options.mode, landing.before, columns, names);
    const fieldIds = landing.checkColumns(partitioning.columns, partitioning.fields);
    const key = columns.filter(({ field }) => fields.includes(field));
    const appending =
      options.mode === 'append' ? new Appending(at, await indexOf(landing, namesOf(key), fieldIds), columns, key, inFiles) : undefined;
    const partitioned = inFiles.length < columns.length || (landing.kind === 'iceberg' && names.length > 0);
    this.#files = new DataFiles(landing, runId, engine, inFiles, {
      ...options,
      encoding: { ...encoding, ...(fieldIds && { fieldIds }) },
      partitioned,
      valuesOf: partitioning.valuesOf,
    });
    if (options.mode === 'replace' && names.length === 0 && landing.kind === 'plain') await this.#files.begin();
    return new BegunRun(this.run, columns, namesOf(key), partitioning, this.#files, appending);
  }

  /** Removes everything written by this run. */
  async abort(): Promise<void> {
    await this.#files?.discard();
    await this.run.landing.abort();
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
    const { partitioning, files, appending } = this;
    const index = appending?.index;
    const { landing, options } = this.run;
    const stays = (added: readonly ManifestFile[]) => retained(options.mode, landing.before, added);
    // A file without rows has the columns of the folders, too.
    const added = await files.finish(landing.kind === 'plain' && stays([]).length === 0 ? partitioning.columns : undefined);
    const old = stays(added);
    if (options.mode === 'replace_partitions') await landing.checkRetained(old);
    const rows = sumOf(added, 'rows');
    return {
      ...{ path: landing.path, rows, bytes: sumOf(added, 'bytes'), total: rows + sumOf(old, 'rows') },
      ...{ unchanged: appending?.unchanged ?? 0, changed: appending?.changed ?? 0 },
      actions: (facts: RunFacts): Promise<readonly Action[]> =>
        landing.publish({
          columns: partitioning.columns,
          partitions: partitioning.fields,
          added,
          retained: old,
          storeKeys: index && ((file) => index.store(file)),
          manifest: (keys) => this.#manifest(facts, added, old, keys),
        }),
      ...(landing.commit && { commit: landing.commit }),
      cleanup: () => landing.cleanup(),
    };
  }

  #manifest(facts: RunFacts, added: readonly AddedFile[], old: readonly ManifestFile[], keys: FileContent | undefined): Manifest {
    const { options, context, landing } = this.run;
    const { before } = landing;
    const { columns, partitioning, appending, key } = this;
    const mine = added.map(({ partition: _partition, statistics: _statistics, ...file }) => file);
    const all = [...old, ...mine].sort((a, b) => (a.name < b.name ? -1 : 1));
    // Rows added to a complete table, or replacing partitions of it, do not make it partial.
    const partial = facts.partial === true && (options.mode === 'replace' || !before || before.partial === true);
    return {
      version: 1,
      table: landing.kind,
      pipeline: facts.pipeline,
      fingerprint: facts.fingerprint,
      service: facts.service,
      collection: facts.collection,
      started_at: facts.startedAt,
      finished_at: new Date().toISOString(),
      pages: facts.pages,
      consistency: facts.consistency,
      undeclared: [...(facts.undeclared ?? [])],
      reads: { ...facts.reads },
      books: { ...facts.books },
      ...(partial ? { partial } : {}),
      run_id: context.runId,
      mode: options.mode,
      replaced: before?.run_id,
      partition_by: [...partitioning.names],
      rows: sumOf(all, 'rows'),
      bytes: sumOf(all, 'bytes'),
      run: { written: sumOf(added, 'rows'), unchanged: appending?.unchanged ?? 0, changed: appending?.changed ?? 0 },
      files: all,
      schema: columns.map((column) => ({ ...column })),
      keys: appending && keys && { columns: [...key], rows: appending.index.rows, ...keys },
      output: context.at,
      success_file: options.success_file,
    };
  }
}

/** Returns the files of the earlier run that stay in the table with those of this run. */
function retained(mode: Mode, before: Manifest | undefined, files: readonly ManifestFile[]): readonly ManifestFile[] {
  if (mode === 'replace' || before === undefined) return [];
  if (mode === 'append') return before.files.filter(({ rows }) => rows > 0);
  const replaced = new Set(files.map(folderOf));
  return before.files.filter((file) => file.rows > 0 && !replaced.has(folderOf(file)));
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
function refuseSameName(at: string, inFiles: readonly OutputColumn[], partitions: readonly string[]): void {
  partitions.forEach((partition, index) => {
    const others = [...namesOf(inFiles), ...partitions.slice(index + 1)];
    const same = others.find((name) => name.toLowerCase() === partition.toLowerCase());
    if (same !== undefined)
      throw new SinkError('E_SINK_VALUE', `${at}: the partition ${partition} and the column ${same} have the same name; rename one`);
  });
}

function namesOf(columns: readonly OutputColumn[]): readonly string[] {
  return columns.map(({ name }) => name);
}
