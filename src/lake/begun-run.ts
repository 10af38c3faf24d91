import { SinkError, type OutputColumn } from '../core/index.js';
import type { Batch } from '../vector/index.js';
import { appending, type Appending } from './appending.js';
import { DataFiles } from './data-files.js';
import { KeyIndex } from './key-index.js';
import type { ManifestFile } from './manifest.js';
import { checkFit, retained } from './modes.js';
import { partitionBy, type Partitioning } from './partitions.js';
import { PreparedRun } from './prepared-run.js';
import { indexOf } from './reindex.js';
import { checkRetained } from './retained-files.js';
import type { Run, TableLayout } from './run.js';

/** Begins the files, and closes what was opened if that fails, since nothing else holds it. */
async function begun(files: DataFiles): Promise<void> {
  try {
    await files.begin();
  } catch (failure) {
    await files.discard();
    throw failure;
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
    const { folder, engine, options, context, before } = run;
    const { at, runId } = context;
    const { columns } = layout;
    const partitioning = partitionBy(columns, options.partition_by, context.runDate());
    const inFiles = partitioning.kept.map((index) => columns[index]).filter((column) => column !== undefined);
    refuseTaken(at, inFiles, partitioning.names);
    if (inFiles.length === 0) throw new SinkError('E_SINK_VALUE', `${at}: every column is in partition_by, so none is left for the files`);
    checkFit(at, options.mode, before?.manifest, columns, partitioning.names);
    const key = keyColumns(layout);
    const index = options.mode === 'append' ? await openIndex(run, key) : undefined;
    const files = new DataFiles(folder, runId, engine, inFiles, {
      ...options,
      encoding: layout.encoding(inFiles),
      partitioned: partitioning.kept.length < columns.length,
    });
    if (options.mode === 'replace' && partitioning.names.length === 0) await begun(files);
    return new BegunRun(run, layout, partitioning, files, index, index && appending(at, index, columns, key, partitioning.kept));
  }

  /** Resolves when the rows are stored, or wait in a bounded buffer. */
  async write(batch: Batch): Promise<void> {
    for (const split of this.partitioning.split(this.appending?.take(batch) ?? batch)) await this.files.add(split);
  }

  /** Closes, syncs and verifies the files. @throws {GateError} `E_GATE_VERIFY` when retained files of the table have changed. */
  async prepare(): Promise<PreparedRun> {
    const { table, options, context, before } = this.run;
    const stays = (written: readonly ManifestFile[]) => retained(options.mode, before?.manifest, written);
    const written = await this.files.finish(stays([]).length === 0 ? allColumns(this.layout.columns, this.partitioning) : undefined);
    const old = stays(written);
    if (options.mode === 'replace_partitions' && before) await checkRetained(context.at, table.folder(before.run), old);
    return new PreparedRun(this.run, {
      columns: this.layout.columns,
      partitions: this.partitioning.names,
      written,
      actions: this.files.actions,
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

/** Refuses names shared by files and folders, which readers see as one table. */
function refuseTaken(at: string, inFiles: readonly OutputColumn[], partitions: readonly string[]): void {
  partitions.forEach((partition, index) => {
    const others = [...namesOf(inFiles), ...partitions.slice(index + 1)];
    const taken = others.find((name) => name.toLowerCase() === partition.toLowerCase());
    if (taken !== undefined)
      throw new SinkError('E_SINK_VALUE', `${at}: the partition ${partition} and the column ${taken} have the same name; rename one`);
  });
}

async function openIndex({ table, before }: Run, key: readonly OutputColumn[]): Promise<KeyIndex> {
  return before ? indexOf(table, before.run, before.manifest, namesOf(key)) : new KeyIndex();
}

function keyColumns({ columns, key }: TableLayout): readonly OutputColumn[] {
  return columns.filter(({ field }) => key.includes(field));
}

/** Returns the columns of the files, followed by those of the folders. */
function allColumns(columns: readonly OutputColumn[], { kept, columns: partitions }: Partitioning): readonly OutputColumn[] {
  return [...columns.filter((_, index) => kept.includes(index)), ...partitions];
}

function namesOf(columns: readonly OutputColumn[]): readonly string[] {
  return columns.map(({ name }) => name);
}
