import type { Move } from '../../files/index.js';
import type { Batch, OutputColumn } from '../projection.js';
import type { Encoding, ParquetEngine } from './encoder.js';
import type { Manifest } from './manifest.js';
import { Part, type PartWriter } from './part.js';
import { RowGroup } from './row-group.js';
import type { Table } from './table.js';

export interface PartsOptions {
  readonly encoding: Encoding;
  readonly row_group_rows: number;
  readonly file_max_rows: number;
}

/** The files of one run, filled one behind the other. There is always one, also without rows. */
export class Parts {
  readonly #files: Manifest['files'] = [];
  readonly #parts: Part[];
  readonly #group: RowGroup;
  #writer: PartWriter | undefined;

  constructor(
    private readonly table: Table,
    private readonly engine: ParquetEngine,
    private readonly columns: readonly OutputColumn[],
    private readonly options: PartsOptions,
    first: Part,
  ) {
    this.#parts = [first];
    this.#group = new RowGroup(columns, Math.min(options.row_group_rows, options.file_max_rows), options.encoding.sortedBy);
  }

  /** Renames that publish the files. */
  get moves(): readonly Move[] {
    return this.#parts.map((part) => part.move);
  }

  /** Begins the first file, so that a column which it cannot have is told before the first row. */
  async begin(): Promise<void> {
    this.#writer = await this.#parts[0]?.begin(this.engine, this.columns, this.options.encoding);
  }

  async add(batch: Batch): Promise<void> {
    for (let from = 0; from < batch.rows;) {
      const room = Math.min(this.#group.room, this.options.file_max_rows - this.#written - this.#group.rows);
      const to = Math.min(batch.rows, from + room);
      this.#group.add(batch, from, to);
      from = to;
      const full = this.#written + this.#group.rows === this.options.file_max_rows;
      if (full || this.#group.room === 0) await this.#flush();
      if (full) await this.#close();
    }
  }

  /** Closes the last file. */
  async finish(): Promise<Manifest['files']> {
    await this.#flush();
    await this.#close();
    return this.#files;
  }

  async discard(): Promise<void> {
    for (const part of this.#parts) await part.discard();
  }

  /** Rows in the file that is open; none when the next one is still to be opened. */
  get #written(): number {
    return this.#writer ? (this.#parts.at(-1)?.rows ?? 0) : 0;
  }

  async #flush(): Promise<void> {
    if (this.#group.rows === 0) return;
    this.#writer ??= await this.#next();
    const { columns, rows } = this.#group.take();
    await this.#writer.writeGroup(columns, rows);
  }

  async #close(): Promise<void> {
    if (this.#writer) this.#files.push(await this.#writer.finish());
    this.#writer = undefined;
  }

  async #next(): Promise<PartWriter> {
    const part = await Part.open(this.table.folder, this.table.runId, this.#parts.length);
    this.#parts.push(part);
    return part.begin(this.engine, this.columns, this.options.encoding);
  }
}
