import { type OutputColumn, type Value, SinkError } from '../core/index.js';
import { KeyMap, type Seen } from '../flow/index.js';
import { keyOf, type Batch } from '../vector/index.js';
import { footerOf, readExactGroups, type ByteTarget } from '../parquet/index.js';
import { sha256Text } from '../store/index.js';
import type { FieldIds } from './format.js';
import type { StoreRun } from './store-run.js';

/** Name and version of an index file, which goes up when keys or contents are digested differently, and a number that shows the machine's byte order. */
const magic = Uint32Array.from([0x6b_73_6c_02, 0x01_02_03_04]);
const headWords = magic.length + 4;
const chunkWords = 4 * 65_536;

/**
 * The keys of a table, with a digest of the content of each: 16 to 32 bytes per row in memory, and 16 more while they are read. The file
 * `<run>.keys.bin` has 16 per row: digests with a secret seed, and no values. Those of this run are separate,
 * because a key that occurs twice in one run is an error.
 */
class KeyIndex {
  readonly #fresh: KeyMap;

  constructor(private readonly table: KeyMap) {
    this.#fresh = new KeyMap(table.seed);
  }

  /** Number of keys of the table and of this run. */
  get rows(): number {
    return this.table.size + this.#fresh.size;
  }

  /** Looks up a row in the table, and adds it if it is `new`; `twice` for one whose key already occurred in this run. */
  see(key: string, content: readonly unknown[]): Seen | 'twice' {
    const seen = this.table.find(key, content);
    return seen === 'new' && this.#fresh.see(key, content) !== 'new' ? 'twice' : seen;
  }

  async store(target: ByteTarget): Promise<void> {
    await target.append(bytesOf(Uint32Array.from([...magic, ...this.table.seed])));
    let chunk = new Uint32Array(chunkWords);
    let used = 0;
    for (const set of [this.table, this.#fresh]) {
      for (const entry of set.entries()) {
        chunk.set(entry, used);
        used += entry.length;
        if (used < chunkWords) continue;
        await target.append(bytesOf(chunk));
        chunk = new Uint32Array(chunkWords);
        used = 0;
      }
    }
    if (used > 0) await target.append(bytesOf(chunk.subarray(0, used)));
  }
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

type WrittenTable = Pick<StoreRun, 'path' | 'before' | 'keys' | 'reading'>;

/**
 * Returns the key index of the table before a run: the one that its run stored if that fits the key, otherwise rebuilt from the rows of the table,
 * a part of a row group at a time. That of a new table is empty.
 *
 * @throws {SinkError} `E_SINK_KEY` when the table's rows have no such key, or it does not identify them.
 */
export async function indexOf(landing: WrittenTable, key: readonly string[], fieldIds?: FieldIds): Promise<KeyIndex> {
  if (!landing.before) return new KeyIndex(new KeyMap());
  const { keys: stored, rows, files, partition_by: by, schema } = landing.before;
  if (stored && stored.rows === rows && stored.columns.join() === key.join()) {
    const loaded = keysIn(await landing.keys(), stored.sha256);
    if (loaded?.size === rows) return new KeyIndex(loaded);
  }
  const missing = key.find((name) => by.includes(name) || !schema.some((column) => column.name === name));
  if (missing !== undefined)
    throw new SinkError('E_SINK_KEY', `${landing.path}: the files of the table have no column ${missing}, which append needs as its key`);
  const keys = new KeyMap();
  for (const { name } of files) await landing.reading(name, (path) => addFile(keys, landing.path, path, key, fieldIds));
  return new KeyIndex(keys);
}

/** Returns the keys in a file; `undefined` if it is missing, was not written by `store` on such a machine, or has changed since. */
function keysIn(bytes: Buffer | undefined, sha256: string): KeyMap | undefined {
  if (bytes === undefined || bytes.length % 4 !== 0 || sha256Text(bytes) !== sha256) return undefined;
  // A view, unless the bytes are those of a small object at an odd place.
  const { buffer, byteOffset: at, length } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  const all = new Uint32Array(buffer, at, length / 4);
  if (!magic.every((word, index) => all[index] === word)) return undefined;
  const keys = new KeyMap(all.slice(magic.length, headWords), false, (all.length - headWords) / 4);
  keys.restore(all.subarray(headWords));
  return keys;
}

/** Adds the keys of a file. Field ids identify its columns, if it has them: its names may be older than those of the table. */
async function addFile(keys: KeyMap, table: string, path: string, key: readonly string[], fieldIds: FieldIds = new Map()): Promise<void> {
  const { schema } = (await footerOf(path)) ?? { schema: [] };
  const columns = [...fieldIds].map(([name, id]) => [name, schema.find(({ field_id: found }) => found === id)?.name ?? ''] as const);
  const isRenamed = schema.some(({ field_id: id }) => id !== undefined) && columns.some(([name, column]) => name !== column);
  for await (const rows of readExactGroups(path)) {
    for (const found of rows) {
      const row = isRenamed ? Object.fromEntries(columns.map(([name, column]) => [name, found[column] ?? null])) : found;
      const text = keyOf(key.map((name) => row[name] ?? null));
      if (text !== undefined && keys.see(text, contentOf(Object.entries(row).sort(byName))) === 'new') continue;
      const fault = text === undefined ? 'a row of the table has an empty key' : 'two rows of the table have the same key';
      const remedy = 'name columns under key that identify every row, or publish the table again with mode: replace';
      throw new SinkError('E_SINK_KEY', `${table}: ${fault} (${key.join(' + ')}), so append cannot continue; ${remedy}`);
    }
  }
}

/** Leaves out rows that the table already has. */
export class Appending {
  readonly #keyAt: readonly number[];
  readonly #contentAt: readonly (readonly [name: string, index: number])[];
  /** Number of rows left out so far. */
  unchanged = 0;
  /** How many of them have different content in the table. */
  changed = 0;

  /** @param inFiles The columns stored in the files. They are the content of a row, so that an index can be built from the files. */
  constructor(
    private readonly at: string,
    readonly index: KeyIndex,
    columns: readonly OutputColumn[],
    private readonly key: readonly OutputColumn[],
    inFiles: readonly OutputColumn[],
  ) {
    this.#keyAt = key.map((column) => columns.indexOf(column));
    this.#contentAt = inFiles.map((column) => [column.name, columns.indexOf(column)] as const).sort(byName);
  }

  /** @throws {SinkError} `E_SINK_KEY` when a key occurs twice. */
  take(batch: Batch): Batch {
    const fresh: number[] = [];
    for (let row = 0; row < batch.rows; row += 1) if (this.#isNew(batch, row)) fresh.push(row);
    return batch.keep(fresh);
  }

  #isNew(batch: Batch, row: number): boolean {
    const valueOf = (column: number): Value => batch.column(column).value(row);
    const content = contentOf(this.#contentAt.map(([name, column]) => [name, valueOf(column)]));
    const seen = this.index.see(keyOf(this.#keyAt.map(valueOf)) ?? '', content);
    if (seen === 'new') return true;
    if (seen === 'twice') {
      const names = this.key.map(({ name }) => name).join(' + ');
      throw new SinkError('E_SINK_KEY', `${this.at}: two rows have the same key, but append takes one row per key (${names})`);
    }
    this.unchanged += 1;
    if (seen === 'changed') this.changed += 1;
    return false;
  }
}

/** Sorts the values of a row by column name, the order in which an index digests them. */
function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Returns the content of a row that an index digests: the names and values that are not null, so that a column added later changes nothing. */
function contentOf(values: readonly (readonly [name: string, value: Value])[]): readonly unknown[] {
  return values.flatMap(([name, value]) => (value === null ? [] : [name, value instanceof Date ? value.getTime() : value]));
}
