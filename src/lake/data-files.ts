import { SinkError, type OutputColumn, type Value, itemAt } from '../core/index.js';
import { footerFault, footerOf, statisticsOf } from '../parquet/index.js';
import type { Encoding, Expected, ParquetEncoder, ParquetEngine, RowGroup } from '../parquet/index.js';
import { type PartialFile, sha256File } from '../store/index.js';
import type { AddedFile } from './format.js';
import type { StoreRun } from './store-run.js';
import type { PartitionedBatch } from './partitions.js';

export interface DataFilesOptions {
  readonly encoding: Encoding;
  readonly row_group_rows: number;
  readonly row_group_bytes: number;
  readonly file_max_bytes: number;
  readonly partitioned: boolean;
  /** As `Partitioning.valuesOf`. */
  valuesOf(folder: string): readonly Value[];
}

/** Number of open files. The one opened first is closed for another, and its partition gets one more file later. */
const maxOpen = 32;

/** Number of row groups' worth of rows waiting to be encoded, over all partitions; the largest group goes first. */
const maxWaiting = 4;

/** Maximum number of partitions per run; a column with more values makes poor folders. */
const maxPartitions = 10_000;

/** The rows waiting for one partition, and the file they go into. */
interface Slot {
  readonly folder: string;
  readonly group: RowGroup;
  file: DataFile | undefined;
}

interface DataFile {
  readonly folder: string;
  readonly name: string;
  readonly columns: readonly OutputColumn[];
  readonly partial: PartialFile;
  readonly encoder: ParquetEncoder;
  /** Rows passed to it, including those being encoded. */
  rows: number;
}

/**
 * The files of one run, rolled when they are long enough. Memory: the row group being encoded, and at most `maxWaiting` being collected, regardless of the
 * number of partitions; one without partitions.
 */
export class DataFiles {
  /** By folder, in the order of their first rows. */
  readonly #slots = new Map<string, Slot>();
  /** Those with a file, in the order in which these were opened. */
  readonly #open = new Set<Slot>();
  readonly #files: AddedFile[] = [];
  #opened = 0;
  #waiting = 0;
  /** Settles when the current row group is in its file. */
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly landing: Pick<StoreRun, 'create' | 'take'>,
    private readonly runId: string,
    private readonly engine: ParquetEngine,
    private readonly columns: readonly OutputColumn[],
    private readonly options: DataFilesOptions,
  ) {}

  /** Opens a file at the root immediately, so that unsupported columns are reported before the first row. */
  async begin(): Promise<void> {
    await this.#openFile(this.#slotOf(''));
  }

  /**
   * Takes rows, and ends row groups and files at exact rows in their order: the bytes do not depend on the sizes of pages. A failure to
   * store them may be reported by a later call.
   */
  async add(parts: readonly PartitionedBatch[], rows: number): Promise<void> {
    const most = maxWaiting * this.options.row_group_rows;
    const pending = parts.map((part) => ({ ...part, next: 0 }));
    for (let end = 0; end < rows;) {
      end = Math.min(rows, end + most - this.#waiting);
      for (let slot = this.#fill(pending, end); slot; slot = this.#fill(pending, end)) await this.#flush(slot);
      while (this.#waiting >= most) await this.#flush(this.#largest());
    }
  }

  /** Adds the rows before `end`, up to complete row groups. @returns The slot whose group was completed by the earliest row. */
  #fill(parts: readonly (PartitionedBatch & { next: number })[], end: number): Slot | undefined {
    let first: { readonly slot: Slot; readonly at: number } | undefined;
    for (const part of parts) {
      const { folder, batch, places } = part;
      const placeOf = (row: number) => (places ? itemAt(places, row) : row);
      let to = part.next;
      while (to < batch.rows && placeOf(to) < end) to += 1;
      if (to === 0) continue;
      const slot = this.#slotOf(folder);
      const next = slot.group.add(batch, part.next, to);
      this.#waiting += next - part.next;
      part.next = next;
      const at = placeOf(next - 1);
      if (slot.group.isComplete && (first === undefined || at < first.at)) first = { slot, at };
    }
    return first?.slot;
  }

  /** Closes all files. @param empty Columns of a file without rows, which is written if there is no other and one is required. */
  async finish(empty: readonly OutputColumn[] | undefined): Promise<readonly AddedFile[]> {
    for (const folder of this.#slots.keys()) await this.end(folder);
    if (this.#files.length === 0 && empty) await this.#finish(await this.#begin('', empty));
    await this.engine.close?.();
    return this.#files;
  }

  /** Closes the file of a partition, and frees its memory. */
  async end(folder: string): Promise<void> {
    const slot = this.#slotOf(folder);
    await this.#flush(slot);
    await this.#close(slot);
    this.#slots.delete(folder);
  }

  /** Stops writing, once the current row group is done. */
  async discard(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.engine.close?.();
  }

  #slotOf(folder: string): Slot {
    if (this.#slots.size >= maxPartitions && !this.#slots.has(folder))
      throw new SinkError('E_SINK_VALUE', `partition_by makes more than ${maxPartitions} partitions; choose coarser columns`);
    const { row_group_rows: rows, row_group_bytes: text, encoding, partitioned } = this.options;
    const plan = { rows, text, sortedBy: encoding.sortedBy, many: partitioned };
    const slot = this.#slots.get(folder) ?? { folder, group: this.engine.rowGroup(this.columns, plan), file: undefined };
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
    if (slot.file && slot.file.rows > 0 && slot.file.partial.bytes >= this.options.file_max_bytes) await this.#close(slot);
    const file = slot.file ?? (await this.#openFile(slot));
    this.#waiting -= rows;
    file.rows += rows;
    this.#writing = file.encoder.writeGroup(slot.group.take());
    // A later call awaits it and gets the failure; until then nothing listens.
    this.#writing.catch(() => undefined);
  }

  async #close(slot: Slot): Promise<void> {
    await this.#writing;
    if (slot.file) await this.#finish(slot.file);
    slot.file = undefined;
    this.#open.delete(slot);
  }

  async #finish({ folder, name, columns, partial, encoder, rows }: DataFile): Promise<void> {
    await encoder.finish();
    const { valuesOf, encoding } = this.options;
    const { content, footer } = await closeVerified(partial, { columns, rows, encoding });
    await this.landing.take(name, partial);
    this.#files.push({
      name,
      rows,
      ...content,
      written_by: this.runId,
      partition: valuesOf(folder),
      statistics: statisticsOf(footer, columns),
    });
  }

  async #openFile(slot: Slot): Promise<DataFile> {
    const [oldest] = this.#open;
    if (oldest && this.#open.size >= maxOpen) await this.#close(oldest);
    slot.file = await this.#begin(slot.folder, this.columns);
    this.#open.add(slot);
    return slot.file;
  }

  async #begin(folder: string, columns: readonly OutputColumn[]): Promise<DataFile> {
    const { name, file } = await this.landing.create(folder, this.#opened);
    this.#opened += 1;
    return { folder, name, columns, partial: file, encoder: await this.engine.open(file, columns, this.options.encoding), rows: 0 };
  }
}

/** Closes a data file and reads it back, its footer with another library. @throws {SinkError} `E_SINK_VERIFY` when it differs from what was written. */
export async function closeVerified(file: PartialFile, expected: Omit<Expected, 'bytes'>) {
  await file.close();
  const footer = await footerOf(file.path);
  const fault = footer ? footerFault(footer, { ...expected, bytes: file.bytes }) : 'the footer cannot be read';
  if (!footer || fault !== undefined) throw new SinkError('E_SINK_VERIFY', `${file.path}: ${fault}`);
  if ((await sha256File(file.path)) !== file.content.sha256)
    throw new SinkError('E_SINK_VERIFY', `${file.path}: the bytes read back differ from those written`);
  return { content: file.content, footer };
}
