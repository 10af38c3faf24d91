import { GateError, SinkError } from '../core/index.js';
import type { OutputColumn, Refuses, SourcePresence } from '../core/index.js';
import type { Encoding, ParquetEngine } from '../parquet/index.js';
import type { Action, FileContent, PartialFile } from '../store/index.js';
import type { Batch } from '../vector/index.js';
import { DataFiles, type DataFilesOptions } from './data-files.js';
import { manifestFileOf } from './format.js';
import { indexOf, type KeyedMode, type KeyIndex } from './keys.js';
import { deleteMissing } from './missing.js';
import { refuseChanged } from './missing-rows.js';
import { folderOf, isOtherField, type Manifest, type ManifestFile, type Published, type RunFacts, sumOf } from './manifest.js';
import { notForFolder, partitionBy, type Partitioning } from './partitions.js';
import { type RewriteOptions, Rewriting } from './rewrite.js';
import { RowShape } from './row-shape.js';
import type { Mode, StoreRun, StoreRunContext, StoreRunOptions } from './store-run.js';
import { addedColumns, boundaryOf, endedFolderOf, goneAt, isCurrent, withAdded } from './versions.js';

/** How a run changes its table. */
export interface TableRunOptions extends StoreRunOptions, Omit<DataFilesOptions, 'encoding' | 'partitioned' | 'valuesOf'> {
  /** Fields, or the template of the run's date; each is a level of folders. */
  readonly partition_by: readonly string[];
  /** Fields in which rows may differ and still be the same, for `merge`. */
  readonly ignore?: readonly string[] | undefined;
  /** What becomes of rows whose keys the source does not have any more. */
  readonly on_missing?: 'keep' | 'delete' | 'mark' | undefined;
  /** Whether replaced and deleted rows stay, as versions that ended, for `merge`. */
  readonly history?: boolean | undefined;
  readonly max_deleted?: number | undefined;
  readonly max_changed?: number | undefined;
  readonly success_file: boolean;
}

export interface TableRunContext extends StoreRunContext {
  /** Stops long work after the last row. */
  readonly signal?: AbortSignal | undefined;
  readonly presence?: SourcePresence | undefined;
  firstStart(): string;
  runDate(): string;
}

/** What all phases of a run know. */
interface Run {
  readonly landing: StoreRun;
  readonly engine: ParquetEngine;
  readonly options: TableRunOptions;
  readonly context: TableRunContext;
  /** When the versions of the run begin; `undefined` without history. */
  readonly boundary: Date | undefined;
}

/** A run of a table whose columns are not known yet. */
export class OpenedRun {
  #files: DataFiles | undefined;

  private constructor(private readonly run: Run) {}

  /** @throws {GateError} `E_GATE_VERIFY` when files to be kept are not what their run wrote. */
  static async open(landing: StoreRun, engine: ParquetEngine, options: TableRunOptions, context: TableRunContext): Promise<OpenedRun> {
    try {
      const boundary = boundaryOf(context.at, landing.before, options, context.firstStart());
      if (isKeyed(options.mode)) await landing.checkRetained(retained(options.mode, landing.before, []));
      return new OpenedRun({ landing, engine, options, context, boundary });
    } catch (failure) {
      await landing.abort();
      throw failure;
    }
  }

  /** The table before this run. */
  get earlier(): Published | undefined {
    const { before, last } = this.run.landing;
    if (!before || !last) return undefined;
    const { rows, schema, partial = false } = before;
    const { run_id: runId, undeclared, reads } = last;
    // Others may have deleted rows, which the end of a list would not bring back.
    const since = sumOf(before.files, 'rows') === rows ? last.since : undefined;
    return { runId, rows, columns: schema, undeclared, reads, partial, since };
  }

  /** Checks which values the files or the names of folders cannot hold. */
  readonly refuses: Refuses = (column) => {
    const { engine, options, landing } = this.run;
    const { field, type } = column;
    const byEngine = engine.refuses?.(column);
    return options.partition_by.includes(field) ? (value) => notForFolder(field, value, type, landing.kind) ?? byEngine?.(value) : byEngine;
  };

  /**
   * @param fields Those that identify a row, for `append` and `merge`.
   * @throws {SinkError} `E_SINK_VALUE` for columns that cannot form one table. @throws {GateError} `E_GATE_SCHEMA`.
   */
  async begin(written: readonly OutputColumn[], fields: readonly string[], encoding: Encoding): Promise<BegunRun> {
    const { engine, options, context, landing } = this.run;
    const { at, runId } = context;
    const added = addedColumns(options);
    const columns = [...written, ...added];
    const by = [...(options.history ? [isCurrent.field] : []), ...options.partition_by];
    const partitioning = partitionBy(columns, by, context.runDate(), landing.kind);
    const { inFiles, names } = partitioning;
    const inFolders = partitioning.columns.slice(inFiles.length);
    const results = partitioning.fields.filter(({ transform }) => transform !== 'identity');
    refuseSameName(
      at,
      inFiles,
      [...inFolders, ...results].map(({ name }) => name),
    );
    if (inFiles.length === 0) throw new SinkError('E_SINK_VALUE', `${at}: every column is in partition_by, so none is left for the files`);
    const namesOfAll = (wanted: readonly string[] = []) => namesOf(columns.filter(({ field }) => wanted.includes(field)));
    const folders = landing.kind === 'iceberg' ? [] : names;
    const { mode } = options;
    const { before } = landing;
    const shape = new RowShape(columns, namesOfAll(fields), [...namesOfAll(options.ignore), ...namesOf(added)], folders);
    checkFit(at, mode, before, shape, names);
    const fieldIds = landing.checkColumns(partitioning.columns, partitioning.fields);
    const index = isKeyed(mode) ? await indexOf(landing, shape, mode, fieldIds) : undefined;
    const fresh = before?.history ? namesOf(columns).filter((name) => !namesOf(before.schema).includes(name)) : [];
    if (fresh.length > 0)
      await index?.continueVersions(landing, new RowShape(columns, shape.key, [...shape.ignored, ...fresh], folders), fieldIds);
    const partitioned = inFiles.length < columns.length || (landing.kind === 'iceberg' && names.length > 0);
    const create = (folder: string, number: number) => landing.create(folder, number);
    const take = async (name: string, file: PartialFile) => {
      if (mode === 'merge') await index?.locateIn(name, file.path);
      await landing.take(name, file);
    };
    const fileOptions = {
      ...options,
      encoding: { ...encoding, ...(fieldIds && { fieldIds }) },
      partitioned,
      valuesOf: partitioning.valuesOf,
    };
    this.#files = new DataFiles({ create, take }, runId, engine, inFiles, fileOptions);
    if (mode === 'replace' && names.length === 0 && landing.kind === 'plain' && !context.part) await this.#files.begin();
    const sourceKey = fields.flatMap((field) => namesOfAll([field]));
    return new BegunRun(this.run, columns, partitioning, this.#files, index, { ...fileOptions, fieldIds, sourceKey });
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
    private readonly partitioning: Partitioning,
    private readonly files: DataFiles,
    private readonly index: KeyIndex | undefined,
    private readonly rewriting: DataFilesOptions & Pick<RewriteOptions, 'fieldIds'> & { readonly sourceKey: readonly string[] },
  ) {}

  /** Resolves when the rows are stored, or wait in a bounded buffer. */
  async write(batch: Batch): Promise<void> {
    const { options, boundary } = this.run;
    const rows = withAdded(batch, options, boundary);
    const added = this.index?.take(rows, options.mode === 'merge') ?? rows;
    await this.files.add(this.partitioning.split(added), added.rows);
  }

  get soFar() {
    const { inserted = 0, changed = 0 } = this.index ?? {};
    return { inserted, changed };
  }

  /** Closes, syncs and verifies the files. @throws {GateError} `E_GATE_VERIFY` when retained files of the table have changed. */
  async prepare() {
    const { partitioning, files, index } = this;
    const { landing, options, context } = this.run;
    const { before } = landing;
    const { mode } = options;
    const { part } = context;
    const isMerge = mode === 'merge';
    if (isMerge) await this.#judge();
    const { inserted = 0, unchanged = 0, changed = 0, extended = 0, deleted: gone = 0 } = index ?? {};
    const touched = index?.touched() ?? [];
    const isSame = isMerge && before !== undefined && inserted + changed + gone === 0;
    const own = await files.finish(undefined);
    const ofShards = part?.files.get(landing.at) ?? [];
    const fresh = [...ofShards.map((file) => ({ ...file, written_by: context.runId })), ...own];
    if (part?.role === 'shard') {
      await landing.stored();
      part.files.set(landing.at, own);
    }
    const again = touched.length === 0 ? [] : await this.#rewritten(touched, fresh.length);
    const old = isSame ? before.files : retained(mode, before, fresh).filter((file) => !touched.includes(file));
    const isBare = landing.kind === 'plain' && (part?.role ?? 'commit') === 'commit' && fresh.length + again.length + old.length === 0;
    // A file without rows has the columns of the folders, too.
    const added = [...(isBare ? await files.finish(partitioning.columns) : fresh), ...again];
    await landing.checkRetained([...(mode === 'replace_partitions' ? old : []), ...ofShards]);
    const rows = sumOf(fresh, 'rows');
    const total = sumOf([...added, ...old], 'rows');
    const removed = options.on_missing === 'mark' ? { deleted: 0, marked: gone } : { deleted: gone };
    const ends = options.history ? { closed: changed - extended + gone } : {};
    const merged = isMerge ? { before: before?.rows ?? 0, inserted, changed, unchanged, ...removed, ...ends } : undefined;
    const run = { written: rows, unchanged, changed, ...(merged && { merged: { ...merged, rewritten: sumOf(again, 'rows') } }) };
    const all = [...old, ...added.map(manifestFileOf)].sort((a, b) => (a.name < b.name ? -1 : 1));
    return {
      ...{ path: landing.path, rows, bytes: sumOf(added, 'bytes'), total, unchanged },
      // Of a merge, they are written.
      ...(merged ? { changed: 0, merged } : { changed }),
      actions: (facts: RunFacts): Promise<readonly Action[]> =>
        landing.publish({
          columns: partitioning.columns,
          partitions: partitioning.fields,
          added,
          retained: old,
          isUnchanged: isSame && before.schema.length === this.columns.length,
          storeKeys: index && ((file) => index.store(file, isMerge ? all : undefined)),
          manifest: (keys) => this.#manifest(facts, run, all, keys),
        }),
      ...(landing.commit && { commit: landing.commit }),
      cleanup: () => landing.cleanup(),
    };
  }

  /** Finds out which rows are deleted. @throws {GateError} `E_GATE_MERGE`, `E_GATE_MISSING`. */
  async #judge(): Promise<void> {
    const { landing, options, context } = this.run;
    const { on_missing: onMissing = 'keep', max_deleted: maxDeleted = 0, max_changed: maxChanged = options.history ? 0.5 : 1 } = options;
    const { fieldIds, sourceKey: key } = this.rewriting;
    const { presence } = context;
    if (!landing.before || !this.index) return;
    const changed = this.index.changed - this.index.extended;
    refuseChanged(landing.at, { before: sumOf(this.index.files, 'rows'), changed }, maxChanged, presence);
    if (onMissing !== 'keep') await deleteMissing(landing, this.index, { presence, key, maxDeleted, fieldIds });
  }

  /** Writes the rows of files again that are still part of the table, those of a partition to one file, if it does not get too large. */
  async #rewritten(touched: readonly ManifestFile[], opened: number) {
    const { partitioning, index } = this;
    const { landing, engine, context, boundary } = this.run;
    const { before } = landing;
    if (!before || !index) return [];
    const now = boundary ?? new Date();
    const rewriting = new Rewriting(landing, before, partitioning, {
      ...this.rewriting,
      ...{ runId: context.runId, engine, opened, signal: context.signal },
      written: (name, rows) => index.locate(name, rows.length, index.shape.vectorsOf(rows, { name })),
    });
    try {
      for (const folder of new Set(touched.map(folderOf))) {
        const goneTo = boundary ? endedFolderOf(folder) : folder;
        for (const file of touched.filter((each) => folderOf(each) === folder)) {
          await rewriting.add(file, (rows, named) => {
            const { stay, gone } = index.staying(file, rows.rows, index.shape.vectorsOf(named, file));
            const kept = goneAt(now, rows.keep(gone), partitioning.inFiles);
            return [
              { folder, batch: rows.keep(stay) },
              { folder: goneTo, batch: kept },
            ];
          });
          index.checkLeft(file);
        }
        await rewriting.end(folder);
        await rewriting.end(goneTo);
      }
      return await rewriting.finish();
    } finally {
      await rewriting.discard();
    }
  }

  #manifest(facts: RunFacts, run: Manifest['run'], all: readonly ManifestFile[], keys: FileContent | undefined): Manifest {
    const { options, context, landing, boundary } = this.run;
    const { before } = landing;
    const { columns, partitioning, index } = this;
    const { key = [], ignored = [] } = index?.shape ?? {};
    // Rows added to a complete table, or replacing partitions of it, do not make it partial.
    const partial = facts.partial === true && (options.mode === 'replace' || !before || before.partial === true);
    return {
      version: 1,
      table: landing.kind,
      pipeline: facts.pipeline,
      fingerprint: facts.fingerprint,
      ...{ service: facts.service, account: facts.account },
      collection: facts.collection,
      started_at: facts.startedAt,
      finished_at: new Date().toISOString(),
      pages: facts.pages,
      consistency: facts.consistency,
      ...{ scope: facts.scope, since: facts.since },
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
      run,
      files: [...all],
      schema: columns.map((column) => ({ ...column })),
      ...(boundary && { history: { boundary: boundary.toISOString(), key: [...key] } }),
      keys: index &&
        keys && {
          ...{ columns: [...key], rows: index.rows, ...keys },
          ...(ignored.length > 0 && { ignored: [...ignored] }),
          ...(options.mode === 'merge' && { located: true }),
        },
      output: context.at,
      success_file: options.success_file,
    };
  }
}

function isKeyed(mode: Mode): mode is KeyedMode {
  return mode === 'append' || mode === 'merge';
}

/** Returns the files of the earlier run that stay in the table with those of this run. */
function retained(mode: Mode, before: Manifest | undefined, files: readonly ManifestFile[]): readonly ManifestFile[] {
  if (mode === 'replace' || before === undefined) return [];
  if (isKeyed(mode)) return before.files.filter(({ rows }) => rows > 0);
  const replaced = new Set(files.map(folderOf));
  return before.files.filter((file) => file.rows > 0 && !replaced.has(folderOf(file)));
}

/** Checks that this run has the partitions, types and versions of the earlier one. @throws {GateError} `E_GATE_SCHEMA`. */
function checkFit(at: string, mode: Mode, before: Manifest | undefined, { columns, key }: RowShape, partitions: readonly string[]) {
  if (mode === 'replace' || before === undefined) return;
  const now = new Map(columns.map((column) => [column.name, column]));
  const problems = before.schema.flatMap(({ name, type, original }) => {
    const found = now.get(name);
    if (found === undefined) return [`the table has the column ${name}, but this run does not`];
    if (found.type !== type) return [`the column ${name} is ${type} in the table and ${found.type} in this run`];
    return isOtherField(found, original)
      ? [`the column ${name} is the field ${original} in the table and ${found.original} in this run`]
      : [];
  });
  if (before.partition_by.join() !== partitions.join())
    problems.push(`the table is partitioned by ${listed(before.partition_by)}, this run by ${listed(partitions)}`);
  const versions = before.history?.key ?? key;
  if (versions.toSorted().join('\0') !== key.toSorted().join('\0'))
    problems.push(`the table has versions by the key ${listed(versions)}, this run by ${listed(key)}`);
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
