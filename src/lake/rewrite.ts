import { randomFillSync } from 'node:crypto';
import { GateError, SinkError, stoppedBy } from '../core/index.js';
import { footerOf, type ParquetEngine, readExactGroups, readGroups } from '../parquet/index.js';
import type { PartialFile } from '../store/index.js';
import { Batch, batchFromRows, type RecordBatch, type RowDigests } from '../vector/index.js';
import { DataFiles, type DataFilesOptions } from './data-files.js';
import type { AddedFile, FieldIds } from './format.js';
import type { Manifest, ManifestFile } from './manifest.js';
import { type PartitionedBatch, type Partitioning, textsIn } from './partitions.js';
import { RowShape } from './row-shape.js';
import type { StoreRun } from './store-run.js';
import { manifestDifferences } from './verify.js';

export interface RewriteOptions extends Omit<DataFilesOptions, 'valuesOf'> {
  readonly runId: string;
  readonly engine: ParquetEngine;
  readonly fieldIds: FieldIds | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Number of files that the run has opened before. */
  readonly opened?: number;
  /** Receives the rows of each new file as they are read back, with its name. */
  readonly written?: (name: string, rows: RecordBatch) => void;
}

/**
 * Reads data files of a table and writes their rows, or some of them, to new files, in the order of the calls. Files that are read must be
 * what the manifest says; what was written is read back and compared, whatever the order of rows. Memory: a row group that is read, and
 * one that is written.
 */
export class Rewriting {
  readonly #files: DataFiles;
  /** Sums of the digests of rows, and their number. Row groups may be sorted, so their order may change. */
  readonly #read = new Uint32Array(3);
  readonly #written = new Uint32Array(3);
  readonly #digestsOf: RowDigests;

  constructor(
    private readonly landing: StoreRun,
    private readonly before: Manifest,
    private readonly by: Partitioning,
    private readonly options: RewriteOptions,
  ) {
    const { runId, engine, opened = 0 } = options;
    const create = (folder: string, index: number) => landing.create(folder, opened + index);
    const take = (name: string, file: PartialFile) => this.#take(name, file);
    this.#digestsOf = new RowShape(by.inFiles, [], [], []).digests(randomFillSync(new Uint32Array(4)));
    const valuesOf = (folder: string) => (landing.kind === 'iceberg' ? by.valuesOf(folder) : textsIn(folder));
    this.#files = new DataFiles({ create, take }, runId, engine, by.inFiles, { ...options, valuesOf });
  }

  /**
   * Adds the rows of a file of the table before.
   *
   * @param keep Returns those that stay, also with other values, by the folder of their partition; the columns of the second argument
   * have names.
   * @throws {GateError} `E_GATE_VERIFY` for a changed file.
   * @throws {SinkError} `E_SINK_FOREIGN` for columns or values that the table cannot have.
   */
  async add(file: ManifestFile, keep: (rows: Batch, named: RecordBatch) => readonly PartitionedBatch[]): Promise<void> {
    const { landing, before, by } = this;
    await landing.reading(file.name, async (path) => {
      const [difference] = await manifestDifferences(path, file, before);
      if (difference !== undefined) throw new GateError('E_GATE_VERIFY', `${landing.at}: ${difference}`);
      for await (const named of this.#groupsOf(path, file)) {
        const vectors = by.inFiles.map(({ name }) => named.columnOrNulls(name));
        for (const part of keep(new Batch(named.length, vectors), named)) {
          this.#addTo(this.#read, part.batch);
          await this.#files.add(landing.kind === 'iceberg' ? by.split(part.batch) : [part], part.batch.rows);
        }
      }
    });
  }

  /** Ends the file of a partition, whose rows were the last ones that were added. */
  end(folder: string): Promise<void> {
    return this.#files.end(folder);
  }

  /** @throws {SinkError} `E_SINK_VERIFY` if rows read back differ. */
  async finish(): Promise<readonly AddedFile[]> {
    const added = await this.#files.finish(undefined);
    if (this.#read.every((word, index) => word === this.#written[index])) return added;
    throw new SinkError('E_SINK_VERIFY', `${this.landing.at}: rows read back differ from those of the table`);
  }

  discard(): Promise<void> {
    return this.#files.discard();
  }

  async *#groupsOf(path: string, file: ManifestFile): AsyncIterable<RecordBatch> {
    const { landing, by, options } = this;
    const { at } = landing;
    const columns = by.inFiles;
    const elements = (await footerOf(path))?.schema.slice(1) ?? [];
    const foreign = (what: string) => new SinkError('E_SINK_FOREIGN', `${at}: ${file.name} has ${what}`);
    // Other programs make large row groups, and instants that a `Date` would cut.
    const groups = file.written_by === undefined ? readExactGroups(path) : readGroups(path);
    for await (const rows of groups) {
      if (options.signal?.aborted) throw stoppedBy(options.signal, `${at}: stopped; nothing was published`);
      const found = batchFromRows(rows);
      const known = columns.filter(({ name }) => found.columns.has(name));
      if (known.length < elements.length || elements.some(({ name, field_id: id }) => id !== options.fieldIds?.get(name)))
        throw foreign('columns that the table does not have');
      const instants = known.flatMap(({ name, type }) => (type === 'timestamp' ? found.column(name) : []));
      if (instants.some((vector) => rows.some((_, row) => typeof vector.value(row) === 'string')))
        throw foreign('instants beyond milliseconds');
      yield found;
    }
  }

  async #take(name: string, file: PartialFile): Promise<void> {
    const { by, options } = this;
    for await (const rows of readGroups(file.path)) {
      const found = batchFromRows(rows);
      const vectors = by.inFiles.map((column) => found.columnOrNulls(column.name));
      this.#addTo(this.#written, new Batch(rows.length, vectors));
      options.written?.(name, found);
    }
    await this.landing.take(name, file);
  }

  #addTo(sums: Uint32Array, { rows, columns }: Batch): void {
    const digests = this.#digestsOf(rows, columns);
    for (let row = 0; row < rows; row += 1) {
      sums[0] = (sums[0] ?? 0) + (digests[2 * row] ?? 0);
      sums[1] = (sums[1] ?? 0) + (digests[2 * row + 1] ?? 0);
    }
    sums[2] = (sums[2] ?? 0) + rows;
  }
}
