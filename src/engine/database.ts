import type * as DuckDB from '@duckdb/node-api';
import { LeadstreamError, limitReached, missingPackage, nodeRequire } from '../core/index.js';
import { type Extent, ScratchFile, ScratchFolder } from '../store/index.js';

/** The version that this version of leadstream is tested with. */
export const duckdbPackage = '@duckdb/node-api@1.5.6-r.1';

/** Types of stored columns; texts are BLOBs, which are ordered by code points. */
export type SqlType = 'BLOB' | 'BOOLEAN' | 'BIGINT' | 'DOUBLE' | 'INTEGER';

export type SqlValue = Uint8Array | boolean | bigint | number | null;

/** Returns the next rows of a result, by column; `undefined` at the end. */
export type Reader = () => Promise<{ readonly rows: number; readonly columns: readonly (readonly SqlValue[])[] } | undefined>;

export interface DatabaseOptions {
  /** Bytes of memory for rows, at least `leastMemory`; more is spilled to files. */
  readonly memory: number;
  readonly folder: string;
  failed(message: string): Error;
  /** Creates the error of a query that fails on the rows, from the class of DuckDB's error. Default: `failed`. */
  refused?(kind: string): Error;
}

/** Opens a database in memory, with one thread and without automatic extensions. */
export async function connected(options: Readonly<Record<string, string>>) {
  const api = nodeRequire()('@duckdb/node-api') as typeof DuckDB;
  const own = { threads: '1', autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' };
  const instance = await api.DuckDBInstance.create(':memory:', { ...own, ...options });
  return { api, instance, connection: await instance.connect() };
}

export function missingDuckdb(): string | undefined {
  return missingPackage('@duckdb/node-api', 'this', duckdbPackage);
}

/**
 * A table `rows` in DuckDB, filled first and queried afterwards. One thread gives the same results for the same rows; no file but its own
 * is reachable. Data beyond the memory is in a private folder, which `close` removes, or after a kill the next process that opens one.
 */
export class Database {
  #closed = false;
  #working: Promise<unknown> = Promise.resolve();
  #opened: Opened | undefined;
  #rows = 0;
  #buffered = 0;
  #spill: ScratchFolder | undefined;
  #file: ScratchFile | undefined;

  constructor(
    private readonly columns: Readonly<Record<string, SqlType>>,
    private readonly options: DatabaseOptions,
  ) {}

  append(rows: number, columns: readonly (readonly SqlValue[])[]): Promise<void> {
    return this.#run(async () => {
      const { api, appender, chunk } = await this.#filled();
      for (let from = 0; from < rows; from += chunkRows) {
        const to = Math.min(rows, from + chunkRows);
        chunk.reset();
        chunk.rowCount = to - from;
        const valueIn = (value: SqlValue) => (value instanceof Uint8Array ? new api.DuckDBBlobValue(value) : value);
        chunk.setColumns(columns.map((values) => values.slice(from, to).map(valueIn)));
        appender.appendDataChunk(chunk);
        this.#buffered += to - from;
        if (this.#buffered >= chunkRows) this.#flush(appender);
      }
      this.#rows += rows;
    });
  }

  /** Stores bytes outside of the memory of DuckDB. @returns Where they are. */
  keep(bytes: Uint8Array): Promise<Extent> {
    return this.#run(async () => (this.#file ??= await ScratchFile.open(this.options.folder)).append(bytes));
  }

  /** Returns bytes that were stored. */
  kept(extents: readonly Extent[]): Promise<readonly Buffer[]> {
    return this.#run(() => Promise.resolve(this.#file?.readAll(extents) ?? []));
  }

  /** Moves buffered rows, which could not be spilled, into the table. Small pages one by one took several times as long. */
  #flush(appender: DuckDB.DuckDBAppender): void {
    if (this.#buffered > 0) appender.flushSync();
    this.#buffered = 0;
  }

  /** Returns all rows in another order, by chunk; `undefined` at the end. @param columns The columns to return. */
  async sorted(columns: string, order: string): Promise<Reader> {
    return this.#read(`SELECT ${columns} FROM rows ORDER BY ${order}`, this.#rows);
  }

  /**
   * Stores the result of a query over the rows, and returns it in order. @param setting Statements to run first; the rows are then the
   * table `stored`.
   * @param columns How to read the columns of the result.
   */
  async query(sql: string, setting: readonly string[] = [], columns = '*'): Promise<Reader> {
    const rows = await this.#run(async () => {
      const { connection, appender } = await this.#filled();
      this.#flush(appender);
      if (setting.length > 0) await connection.run(['ALTER TABLE rows RENAME TO stored', ...setting].join(';'));
      await connection.run(`CREATE TABLE result AS ${sql}`);
      const [[count] = []] = (await connection.runAndReadAll('SELECT count(*) FROM result')).getRows();
      return Number(count);
    });
    return this.#read(`SELECT ${columns} FROM result`, rows);
  }

  /** @param rows Expected rows: DuckDB ends a result without an error when memory runs out. */
  async #read(sql: string, rows: number): Promise<Reader> {
    const result = await this.#run(async () => {
      const { connection, appender } = await this.#filled();
      this.#flush(appender);
      return connection.stream(sql);
    });
    let given = 0;
    return () =>
      this.#run(async () => {
        const chunk = await result.fetchChunk();
        const count = chunk?.rowCount ?? 0;
        given += count;
        if (given !== rows && count === 0) throw new Error('Out of Memory Error: the result ended early');
        if (!chunk || count === 0) return undefined;
        const columns = Array.from({ length: chunk.columnCount }, (_, index) => chunk.getColumnValues(index).map(valueOf));
        // The garbage collector does not see its memory.
        chunk.reset();
        return { rows: count, columns };
      });
  }

  /** Stops the current work, and frees everything. Never rejects. Removes spilled rows before it returns, as the caller may not wait. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#spill?.empty();
    this.#opened?.connection.interrupt();
    await this.#working.catch(() => undefined);
    const [opened, spill] = [this.#opened, this.#spill];
    this.#opened = this.#spill = undefined;
    opened?.connection.closeSync();
    opened?.instance.closeSync();
    await this.#file?.close().catch(() => undefined);
    this.#file = undefined;
    await spill?.remove();
  }

  async #filled(): Promise<Opened> {
    if (this.#opened) return this.#opened;
    const { folder, memory } = this.options;
    const { path } = (this.#spill = await ScratchFolder.open(folder));
    const { api, instance, connection } = await connected({ memory_limit: `${Math.ceil(memory / 1000)}kB`, temp_directory: path });
    await connection.run(
      `CREATE TABLE rows (${Object.entries(this.columns)
        .map((column) => column.join(' '))
        .join()})`,
    );
    await connection.run("SET TimeZone = 'UTC'; SET enable_external_access = false; SET lock_configuration = true");
    const chunk = api.DuckDBDataChunk.create(
      Object.values(this.columns).map((type) => api[type]),
      chunkRows,
    );
    this.#opened = { api, instance, connection, appender: await connection.createAppender('rows'), chunk };
    return this.#opened;
  }

  /** Runs calls in sequence. DuckDB's messages can quote values, so only the class of an error is passed on. */
  #run<R>(work: () => Promise<R>): Promise<R> {
    const { folder, failed, refused } = this.options;
    const run = async () => {
      if (this.#closed) throw failed('it was closed');
      try {
        return await work();
      } catch (failure) {
        const reached = limitReached(failure);
        if (reached || (failure instanceof LeadstreamError && failure.code === 'E_STATE_FOREIGN')) throw reached ?? failure;
        const { code, message } = failure as NodeJS.ErrnoException;
        const kind = /^(?:.*?: )??([A-Z][\w ]+? Error):/.exec(message)?.[1] ?? code ?? 'error of DuckDB';
        if (refused && / Error$/.test(kind) && !/^(?:Out of Memory|IO|FATAL|INTERNAL)/.test(kind)) throw refused(kind);
        throw failed(`cannot store rows beyond its memory in ${folder}: ${kind}`);
      }
    };
    const done = this.#working.then(run, run);
    this.#working = done;
    return done;
  }
}

interface Opened {
  readonly api: typeof DuckDB;
  readonly instance: DuckDB.DuckDBInstance;
  readonly connection: DuckDB.DuckDBConnection;
  readonly appender: DuckDB.DuckDBAppender;
  readonly chunk: DuckDB.DuckDBDataChunk;
}

/** Rows that DuckDB takes and returns at a time. */
const chunkRows = 2048;

function valueOf(value: DuckDB.DuckDBValue): SqlValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number') return value;
  if (typeof value === 'object' && 'bytes' in value) return value.bytes;
  throw new Error('a result has an unexpected type');
}
