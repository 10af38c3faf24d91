import { join, dirname } from 'node:path';
import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { SinkError, type OutputColumn, amount, amountOf, GateError, itemAt } from '../core/index.js';
import {
  faultOf,
  footerOf,
  type Encoding,
  type Expected,
  type ParquetEncoder,
  type ParquetEngine,
  type RowGroup,
} from '../parquet/index.js';
import { makeFolders, PartialFile, sha256File, type RenameAction, attempt, closing, linked, openRegular } from '../store/index.js';
import { dataFileNameOf, type ManifestFile } from './manifest.js';
import type { PartitionedBatch } from './partitions.js';
import { openTo, partialEnding } from './table.js';

export interface DataFilesOptions {
  readonly encoding: Encoding;
  readonly row_group_rows: number;
  readonly row_group_bytes: number;
  readonly file_max_bytes: number;
  readonly permissions: number;
  readonly partitioned: boolean;
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
  readonly #files: ManifestFile[] = [];
  readonly #opened: PartialFile[] = [];
  #waiting = 0;
  /** Settles when the current row group is in its file. */
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly runId: string,
    private readonly engine: ParquetEngine,
    private readonly columns: readonly OutputColumn[],
    private readonly options: DataFilesOptions,
  ) {}

  /** The actions that commit the files. */
  get actions(): readonly RenameAction[] {
    return this.#opened.map(({ action }) => action);
  }

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
  async finish(empty: readonly OutputColumn[] | undefined): Promise<readonly ManifestFile[]> {
    for (const slot of this.#slots.values()) {
      await this.#flush(slot);
      await this.#close(slot);
    }
    if (this.#files.length === 0 && empty) await this.#finish(await this.#begin('', empty));
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
    // The next call that awaits it gets the failure; until then nothing listens.
    this.#writing.catch(() => undefined);
  }

  async #close(slot: Slot): Promise<void> {
    await this.#writing;
    if (slot.file) await this.#finish(slot.file);
    slot.file = undefined;
    this.#open.delete(slot);
  }

  async #finish({ name, columns, partial, encoder, rows }: DataFile): Promise<void> {
    await encoder.finish();
    const content = await closeVerified(partial, { columns, rows, encoding: this.options.encoding });
    this.#files.push({ name, rows, ...content, written_by: this.runId });
  }

  async #openFile(slot: Slot): Promise<DataFile> {
    const [oldest] = this.#open;
    if (oldest && this.#open.size >= maxOpen) await this.#close(oldest);
    slot.file = await this.#begin(slot.folder, this.columns);
    this.#open.add(slot);
    return slot.file;
  }

  async #begin(below: string, columns: readonly OutputColumn[]): Promise<DataFile> {
    const name = dataFileNameOf(this.runId, this.#opened.length);
    const partial = await openDataFile(this.folder, below, name, this.options.permissions);
    this.#opened.push(partial);
    return { name: join(below, name), columns, partial, encoder: await this.engine.open(partial, columns, this.options.encoding), rows: 0 };
  }
}

/** @param below Folder of the partition, relative to that of the run. */
export async function openDataFile(run: string, below: string, name: string, permissions: number): Promise<PartialFile> {
  await makeOpen(join(run, below), run, permissions);
  return staged(join(run, below, name), permissions);
}

/** Closes a data file and reads it back, its footer with another library. @throws {SinkError} `E_SINK_VERIFY` when it differs from what was written. */
export async function closeVerified(file: PartialFile, expected: Omit<Expected, 'bytes'>): Promise<PartialFile['content']> {
  await file.close();
  const footer = await footerOf(file.path);
  const fault = footer ? faultOf(footer, { ...expected, bytes: file.bytes }) : 'the footer cannot be read';
  if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `${file.path}: ${fault}`);
  if ((await sha256File(file.path)) !== file.content.sha256)
    throw new SinkError('E_SINK_VERIFY', `${file.path}: the bytes read back differ from those written`);
  return file.content;
}

/**
 * Puts files of the earlier run into the new one: as hard links where possible. Files with other permissions are copied, since all names of a file share them.
 * They are named as those of the new run: a reader that listed the old table and opens its files after the swap then finds none of them, rather than some.
 *
 * @param from Folder of the earlier run; `to` is that of the new one.
 * @throws {SinkError} `E_SINK_VERIFY` when a copied file does not match the earlier manifest.
 */
export async function stageRetained(
  from: string,
  to: string,
  files: readonly ManifestFile[],
  nameOf: (index: number) => string,
  permissions: number,
): Promise<{ readonly files: readonly ManifestFile[]; readonly actions: readonly RenameAction[] }> {
  const retained: ManifestFile[] = [];
  const actions: RenameAction[] = [];
  for (const [index, file] of files.entries()) {
    const name = join(dirname(file.name), nameOf(index));
    const [source, path] = [join(from, file.name), join(to, name)];
    await makeOpen(dirname(path), to, permissions);
    const isLinked = await attempt('E_SINK_WRITE', `cannot retain ${path}`, async () => {
      const { mode } = await lstat(source);
      return (mode & 0o777) === permissions && (await linked(source, path + partialEnding));
    });
    retained.push({ ...file, name });
    actions.push(
      isLinked
        ? { action: 'rename', from: path + partialEnding, to: path, file: { bytes: file.bytes } }
        : await copied(source, path, file, permissions),
    );
  }
  return { files: retained, actions };
}

async function makeOpen(folder: string, run: string, permissions: number): Promise<void> {
  for (const made of await makeFolders(folder, run)) await openTo(made, permissions);
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
export async function written(path: string, permissions: number, write?: (file: PartialFile) => Promise<void>): Promise<PartialFile> {
  const file = await staged(path, permissions);
  await write?.(file);
  await file.close();
  return file;
}

/**
 * Checks that retained files are regular, and have the right size and the start and end of a Parquet file. `verify` compares digests: here that would mean
 * reading the whole table in every run.
 *
 * @throws {GateError} `E_GATE_VERIFY` with the file.
 */
export async function checkRetained(at: string, folder: string, files: readonly ManifestFile[]): Promise<void> {
  for (const { name, bytes } of files) {
    const fault = await retainedFault(join(folder, name), bytes).catch((thrown: unknown) => `cannot be read: ${String(thrown)}`);
    if (fault === undefined) continue;
    throw new GateError('E_GATE_VERIFY', `${at}: ${join(folder, name)} ${fault}, so it is not reused; see leadstream verify`);
  }
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
