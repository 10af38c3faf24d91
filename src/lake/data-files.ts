import { SinkError, type OutputColumn } from '../core/index.js';
import type { RenameAction } from '../store/index.js';
import type { Encoding, ParquetEngine, RowGroup } from '../parquet/index.js';
import { dataFileNameOf, type ManifestFile } from './manifest.js';
import { DataFile, type DataFileWriter } from './data-file.js';
import type { PartitionedBatch } from './partitions.js';
import type { RunFolder } from './run-folder.js';

export interface DataFilesOptions {
  readonly encoding: Encoding;
  readonly row_group_rows: number;
  readonly row_group_bytes: number;
  readonly file_max_rows: number;
  readonly file_max_bytes: number;
  /** Whether files go into more than one folder. */
  readonly partitioned: boolean;
}

/** Maximum number of open files. The least recently used one is closed for another, and its partition gets one more file later. */
const maxOpen = 32;

/** Number of row groups' worth of rows waiting to be encoded, over all partitions; the largest group goes first. */
const maxWaiting = 4;

/** Maximum number of partitions per run; a column with more values makes poor folders. */
const maxPartitions = 10_000;

/** The rows waiting for one partition, and the file they go into. */
interface Slot {
  readonly folder: string;
  readonly group: RowGroup;
  open: { readonly file: DataFile; readonly writer: DataFileWriter } | undefined;
}

/**
 * The files of one run, rolled when they are long enough. While one row group is encoded and stored, the next is collected. Memory: the row group
 * being written, and at most `maxWaiting` being collected, regardless of the number of partitions; one without partitions.
 */
export class DataFiles {
  readonly #slots = new Map<string, Slot>();
  readonly #files: ManifestFile[] = [];
  readonly #opened: DataFile[] = [];
  #waiting = 0;
  /** Settles when the current row group is in its file. */
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: RunFolder,
    private readonly runId: string,
    private readonly engine: ParquetEngine,
    private readonly columns: readonly OutputColumn[],
    private readonly options: DataFilesOptions,
  ) {}

  /** The actions that commit the files. */
  get actions(): readonly RenameAction[] {
    return this.#opened.flatMap(({ action }) => action ?? []);
  }

  /** Opens a file at the root immediately, so that unsupported columns are reported before the first row. */
  async begin(): Promise<void> {
    await this.#open(this.#slotOf(''));
  }

  /** Takes rows. A failure to store them may be reported by a later call. */
  async add({ folder, batch }: PartitionedBatch): Promise<void> {
    const slot = this.#slotOf(folder);
    const { row_group_rows: groupRows, file_max_rows: fileRows } = this.options;
    for (let from = 0; from < batch.rows;) {
      const to = Math.min(batch.rows, from + Math.min(slot.group.room, fileRows - (slot.open?.file.rows ?? 0) - slot.group.rows));
      slot.group.add(batch, from, to);
      this.#waiting += to - from;
      from = to;
      if (slot.group.room === 0 || (slot.open?.file.rows ?? 0) + slot.group.rows === fileRows) await this.#flush(slot);
    }
    while (this.#waiting >= maxWaiting * groupRows) await this.#flush(this.#largest());
  }

  /**
   * Closes all files.
   *
   * @param empty Columns of a file without rows, which is written to the root if there is no other file and one is required.
   */
  async finish(empty: readonly OutputColumn[] | undefined): Promise<readonly ManifestFile[]> {
    for (const slot of this.#slots.values()) {
      await this.#flush(slot);
      await this.#close(slot);
    }
    if (this.#files.length === 0 && empty) this.#files.push(await (await this.#begin('', empty)).writer.finish());
    await this.engine.close?.();
    return this.#files;
  }

  /** Removes all files, once the current row group is done. */
  async discard(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.engine.close?.();
    for (const file of this.#opened) await file.discard();
  }

  #slotOf(folder: string): Slot {
    if (this.#slots.size >= maxPartitions && !this.#slots.has(folder))
      throw new SinkError('E_SINK_VALUE', `partition_by makes more than ${maxPartitions} partitions; choose coarser columns`);
    const { row_group_rows: rows, row_group_bytes: text, file_max_rows: fileRows, encoding, partitioned } = this.options;
    const plan = { rows: Math.min(rows, fileRows), text, sortedBy: encoding.sortedBy, many: partitioned };
    const slot = this.#slots.get(folder) ?? { folder, group: this.engine.rowGroup(this.columns, plan), open: undefined };
    this.#slots.set(folder, slot);
    return slot;
  }

  #largest(): Slot {
    return [...this.#slots.values()].reduce((most, slot) => (slot.group.rows > most.group.rows ? slot : most));
  }

  async #flush(slot: Slot): Promise<void> {
    const { rows } = slot.group;
    if (rows === 0) return;
    await this.#writing;
    // The length of a file is known when its last row group is stored, so it is closed before the next one.
    if (slot.open && slot.open.file.bytes >= this.options.file_max_bytes) await this.#close(slot);
    const { file, writer } = slot.open ?? (await this.#open(slot));
    this.#waiting -= rows;
    this.#writing = writer.writeGroup(slot.group.take(), rows);
    // The next call that awaits it gets the failure; until then nothing listens.
    this.#writing.catch(() => undefined);
    if (file.rows >= this.options.file_max_rows) await this.#close(slot);
  }

  async #close(slot: Slot): Promise<void> {
    await this.#writing;
    if (slot.open) this.#files.push(await slot.open.writer.finish());
    slot.open = undefined;
  }

  async #open(slot: Slot): Promise<NonNullable<Slot['open']>> {
    await this.#makeRoom();
    slot.open = await this.#begin(slot.folder, this.columns);
    // The last in the map is the most recently used.
    this.#slots.delete(slot.folder);
    this.#slots.set(slot.folder, slot);
    return slot.open;
  }

  async #begin(below: string, columns: readonly OutputColumn[]): Promise<NonNullable<Slot['open']>> {
    const file = await DataFile.open(this.folder, below, dataFileNameOf(this.runId, this.#opened.length), this.runId);
    this.#opened.push(file);
    return { file, writer: await file.begin(this.engine, columns, this.options.encoding) };
  }

  async #makeRoom(): Promise<void> {
    const open = [...this.#slots.values()].filter((slot) => slot.open);
    for (const slot of open.slice(0, Math.max(0, open.length - maxOpen + 1))) await this.#close(slot);
  }
}
