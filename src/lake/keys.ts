import { amount, amountOf, GateError, SinkError } from '../core/index.js';
import { KeyMap } from '../flow/index.js';
import { type Batch, batchFromRows, type Vector } from '../vector/index.js';
import { footerOf, readExactGroups, readGroups, type ByteTarget } from '../parquet/index.js';
import { sha256Text } from '../store/index.js';
import type { FieldIds } from './format.js';
import type { Manifest, ManifestFile } from './manifest.js';
import type { RowShape } from './row-shape.js';
import type { StoreRun } from './store-run.js';

/** Name and version of an index file, which goes up when keys or contents are digested differently, and a number that shows the machine's byte order. */
const magic = Uint32Array.from([0x6b_73_6c_03, 0x01_02_03_04]);
const headWords = magic.length + 4;
const entryWords = 6;
const chunkWords = entryWords * 65_536;

/** The number of an entry is that of the file with its row, from 1; 0 while the row is in none that is finished. */
const fileMask = 0x0fff_ffff;
/** Whether this run has had the key. */
const seenBit = 0x8000_0000;
/** Whether the row is deleted, or is if its key proves to be missing. */
const goneBit = 0x4000_0000;
const unreadBit = 0x2000_0000;
/** Whether the row is marked as deleted, in the table before or by this run. */
const markedBit = 0x1000_0000;

/** What a row is to the table: `twice` is a key that this run has had already. */
type Seen = 'new' | 'same' | 'changed' | 'twice';

/**
 * The keys of a table, with a digest of the content of each row and the number of its file: 32 to 40 bytes per row in memory, and 24
 * more while they are read. The file `<run>.keys.bin` has 24 per row: digests with a secret seed, and no values.
 */
export class KeyIndex {
  /** Names of files by number, from 1; those of the table before come first. */
  readonly #names: string[];
  readonly #before: number;
  /** How many rows of each file of the table before were replaced, or deleted. */
  readonly #replaced = new Map<number, number>();
  #deleted = 0;
  /** Rows that were marked as deleted before, and whose key this run has had. */
  #returned = 0;
  readonly #digestsOf: ReturnType<RowShape['digests']>;

  /** @param files Those of the table before. */
  constructor(
    private readonly at: string,
    readonly shape: RowShape,
    private readonly map: KeyMap,
    files: readonly ManifestFile[],
  ) {
    this.#names = files.map(({ name }) => name);
    this.#before = files.length;
    this.#digestsOf = shape.digests(map.seed);
  }

  get rows(): number {
    return this.map.size - (this.shape.markAt < 0 ? this.#deleted : 0);
  }

  /** Number of rows that this run deletes, or marks as deleted. */
  get deleted(): number {
    return this.#deleted;
  }

  /** Counts the rows of the table before that were marked as deleted there. */
  markedBefore(): number {
    let marked = this.#returned;
    if (this.shape.markAt >= 0) for (const entry of this.map.entries()) if (((entry[3] ?? 0) & markedBit) !== 0) marked += 1;
    return marked;
  }

  /** Names of the files with rows that are no longer part of the table. */
  get touched(): readonly string[] {
    return this.#names.filter((_, index) => this.#replaced.has(index + 1));
  }

  /** Looks up rows, and adds those that are new. @param replaces Whether changed rows take the place of those in the table. */
  see(batch: Batch, replaces: boolean): readonly Seen[] {
    const { map } = this;
    const [keyAt, contents] = [this.shape.keysOf(batch.columns), this.#digestsOf(batch.rows, batch.columns)];
    return Array.from({ length: batch.rows }, (_, row): Seen => {
      const number = map.open(keyAt(row) ?? '');
      const file = number & fileMask;
      if (number < 0) map.keep(contents, 2 * row);
      else if (file === 0 || number >= seenBit) return 'twice';
      if (number < 0) return 'new';
      const isSame = map.has(contents, 2 * row) && (number & markedBit) === 0;
      if (!replaces) return isSame ? 'same' : 'changed';
      if ((number & markedBit) !== 0) this.#returned += 1;
      map.put(isSame ? (number | seenBit) >>> 0 : 0);
      if (isSame) return 'same';
      map.keep(contents, 2 * row);
      this.#replaced.set(file, (this.#replaced.get(file) ?? 0) + 1);
      return 'changed';
    });
  }

  /** Returns the names of files with rows that the run did not have. */
  unseen(): ReadonlySet<string> {
    const found = new Set<number>();
    for (const entry of this.map.entries()) if (isUnseen(entry[3] ?? 0)) found.add((entry[3] ?? 0) & fileMask);
    return new Set(this.#names.slice(0, this.#before).filter((_, index) => found.has(index + 1)));
  }

  isUnseen(key: string, file: string): boolean {
    const number = this.map.get(key);
    return number > 0 && isUnseen(number) && this.#names[(number & fileMask) - 1] === file;
  }

  /** Notes what becomes of a row that the run did not have. */
  mark(key: string, as: 'gone' | 'unread' | 'stays'): void {
    const file = this.map.get(key) & fileMask;
    if (as === 'gone') this.#delete(file);
    this.map.put((file | { gone: goneBit, unread: unreadBit, stays: 0 }[as]) >>> 0);
  }

  /** Decides about all rows that are marked as unread. */
  settle(isGone: boolean): void {
    this.map.mapValues((number) => {
      if ((number & unreadBit) === 0 || number >= seenBit) return number;
      if (isGone) this.#delete(number & fileMask);
      return ((number & fileMask) | (isGone ? goneBit : 0)) >>> 0;
    });
  }

  #delete(file: number): void {
    this.#deleted += 1;
    this.#replaced.set(file, (this.#replaced.get(file) ?? 0) + 1);
  }

  /** Adds the rows of a file of the table when the index is built again. @returns What is wrong with a row, if anything. */
  add(name: string, rows: number, vectors: readonly Vector[]): string | undefined {
    const [keyAt, contents] = [this.shape.keysOf(vectors), this.#digestsOf(rows, vectors)];
    const number = this.#names.indexOf(name) + 1;
    const marks = vectors[this.shape.markAt];
    for (let row = 0; row < rows; row += 1) {
      const key = keyAt(row);
      if (key === undefined) return 'a row of the table has an empty key';
      if (this.map.open(key) >= 0) return 'two rows of the table have the same key';
      this.map.put(marks && marks.value(row) !== null ? number | markedBit : number);
      this.map.keep(contents, 2 * row);
    }
    return undefined;
  }

  /**
   * Returns which rows of a file of the table before stay; they are then in no file until they are found in a new one.
   *
   * @throws {GateError} `E_GATE_VERIFY` if the index says otherwise of a row.
   */
  staying(file: ManifestFile): {
    /** @returns The rows that stay, and those of them that are marked from now on. */
    take(rows: number, vectors: readonly Vector[]): { readonly stay: readonly number[]; readonly marked: ReadonlySet<number> };
    check(): void;
  } {
    const { map, shape } = this;
    const of = this.#names.indexOf(file.name) + 1;
    let left = 0;
    const differs = (what: string) => new GateError('E_GATE_VERIFY', `${this.at}: the key index and ${file.name} differ: ${what}`);
    return {
      take: (rows, vectors) => {
        const [keyAt, contents] = [shape.keysOf(vectors), this.#digestsOf(rows, vectors)];
        const stay: number[] = [];
        const marked = new Set<number>();
        for (let row = 0; row < rows; row += 1) {
          const number = map.get(keyAt(row) ?? '');
          if (number < 0) throw differs('it does not have a key of the file');
          const at = number & fileMask;
          const isElsewhere = at === 0 || at > this.#before;
          if (at !== of && !isElsewhere) throw differs('it has a key of the file in another one');
          const isGone = !isElsewhere && (number & goneBit) !== 0;
          if (isElsewhere || isGone) left += 1;
          if (isGone && shape.markAt >= 0) {
            map.put(markedBit);
            stay.push(row);
            marked.add(row);
          }
          if (isElsewhere || isGone) continue;
          if (!map.has(contents, 2 * row)) throw differs('a row has other content');
          map.put(number & markedBit);
          stay.push(row);
        }
        return { stay, marked };
      },
      check: () => {
        const replaced = this.#replaced.get(of) ?? 0;
        if (left !== replaced)
          throw differs(`${amountOf(replaced, 'row')} of the file were replaced or deleted, but ${amount(left)} left it`);
      },
    };
  }

  /** Notes that rows are in a new file. @throws {SinkError} `E_SINK_VERIFY` for rows that were not written. */
  locate(name: string, rows: number, vectors: readonly Vector[]): void {
    const { map } = this;
    const keyAt = this.shape.keysOf(vectors);
    if (this.#names.at(-1) !== name) this.#names.push(name);
    for (let row = 0; row < rows; row += 1) {
      const number = map.get(keyAt(row) ?? '');
      if (number < 0 || (number & fileMask) !== 0)
        throw new SinkError('E_SINK_VERIFY', `${this.at}: ${name} has a key that was not written to it`);
      map.put((this.#names.length | seenBit | (number & markedBit)) >>> 0);
    }
  }

  /** Reads the keys of a new file back. */
  async locateIn(name: string, path: string): Promise<void> {
    const { keyInFiles } = this.shape;
    for await (const rows of readGroups(path, keyInFiles.length === 0 ? undefined : keyInFiles))
      this.locate(name, rows.length, this.shape.vectorsOf(batchFromRows(rows), { name }));
  }

  /** @param files Those of the table from now on; `undefined` if the files of rows are not known. @throws {SinkError} `E_SINK_VERIFY`. */
  async store(target: ByteTarget, files: readonly ManifestFile[] | undefined): Promise<void> {
    await target.append(bytesOf(Uint32Array.from([...magic, ...this.map.seed])));
    const places = new Map(files?.map(({ name }, index) => [name, index + 1]));
    const numbers = Uint32Array.from([0, ...this.#names.map((name) => places.get(name) ?? 0)]);
    const found = new Uint32Array((files?.length ?? 0) + 1);
    let chunk = new Uint32Array(chunkWords);
    let used = 0;
    for (const entry of this.map.entries()) {
      if (((entry[3] ?? 0) & goneBit) !== 0) continue;
      const number = files ? (numbers[(entry[3] ?? 0) & fileMask] ?? 0) : 1;
      found[number] = (found[number] ?? 0) + 1;
      entry[3] = number | ((entry[3] ?? 0) & markedBit);
      chunk.set(entry, used);
      used += entry.length;
      if (used < chunkWords) continue;
      await target.append(bytesOf(chunk));
      chunk = new Uint32Array(chunkWords);
      used = 0;
    }
    if (used > 0) await target.append(bytesOf(chunk.subarray(0, used)));
    const wrong = files?.findIndex(({ rows }, index) => found[index + 1] !== rows) ?? -1;
    if (found[0] === 0 && wrong < 0) return;
    const what = wrong < 0 ? 'rows were written that are in no file' : `${files?.[wrong]?.name} has other rows than were written to it`;
    throw new SinkError('E_SINK_VERIFY', `${this.at}: ${what}`);
  }
}

function isUnseen(number: number): boolean {
  return number < seenBit && (number & markedBit) === 0 && (number & fileMask) > 0;
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

export type KeyedMode = 'append' | 'merge';

type WrittenTable = Pick<StoreRun, 'at' | 'path' | 'before' | 'keys' | 'reading'>;

/**
 * Returns the key index of the table before a run: the one that its run stored if that fits, otherwise built from the rows of the table,
 * a part of a row group at a time. That of a new table is empty.
 *
 * @param mode `merge` has to know in which files rows are.
 * @throws {SinkError} `E_SINK_KEY` when the table's rows have no such key, or it does not identify them.
 */
export async function indexOf(landing: WrittenTable, shape: RowShape, mode: KeyedMode, fieldIds?: FieldIds): Promise<KeyIndex> {
  const { before, at, path } = landing;
  if (!before) return new KeyIndex(at, shape, new KeyMap(undefined, 2), []);
  const stored = await storedIndex(landing, before, shape, mode === 'merge');
  if (stored) return stored;
  const { key } = shape;
  const missing = key.find((name) => !before.schema.some((column) => column.name === name));
  if (missing !== undefined)
    throw new SinkError('E_SINK_KEY', `${path}: the table has no column ${missing}, which ${mode} needs as its key`);
  const index = new KeyIndex(at, shape, new KeyMap(undefined, 2, before.rows), before.files);
  for (const file of before.files) {
    if (file.rows === 0) continue;
    await landing.reading(file.name, async (copy) => {
      const nameOf = await namesIn(copy, fieldIds);
      for await (const rows of readExactGroups(copy)) {
        const fault = index.add(file.name, rows.length, shape.vectorsOf(batchFromRows(rows), file, nameOf));
        const remedy = 'name columns under key that identify every row, or publish the table again with mode: replace';
        if (fault !== undefined)
          throw new SinkError('E_SINK_KEY', `${path}: ${fault} (${key.join(' + ')}), so ${mode} cannot continue; ${remedy}`);
      }
    });
  }
  return index;
}

/** Returns the index that the run of a manifest stored, if it is there and fits. */
export async function storedIndex(
  landing: Pick<StoreRun, 'at' | 'keys'>,
  { keys: stored, rows, files }: Manifest,
  shape: RowShape,
  isLocated: boolean,
): Promise<KeyIndex | undefined> {
  const isSame = (one: readonly string[], other: readonly string[]) => one.join('\0') === other.join('\0');
  if (!stored || stored.rows !== rows || (isLocated && !stored.located)) return undefined;
  if (!isSame(stored.columns, shape.key) || !isSame(stored.ignored ?? [], shape.ignored)) return undefined;
  const map = mapIn(await landing.keys(), stored.sha256);
  return map?.size === rows ? new KeyIndex(landing.at, shape, map, files) : undefined;
}

/** Returns the keys in a file; `undefined` if it is missing, was not written by `store` on such a machine, or has changed since. */
function mapIn(bytes: Buffer | undefined, sha256: string): KeyMap | undefined {
  if (bytes === undefined || bytes.length % 4 !== 0 || sha256Text(bytes) !== sha256) return undefined;
  // A view, unless the bytes are those of a small object at an odd place.
  const { buffer, byteOffset: at, length } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  const all = new Uint32Array(buffer, at, length / 4);
  if (!magic.every((word, index) => all[index] === word)) return undefined;
  const keys = new KeyMap(all.slice(magic.length, headWords), 2, (all.length - headWords) / entryWords);
  keys.restore(all.subarray(headWords));
  return keys;
}

/** Field ids identify the columns of a file, if it has them: its names may be older than those of the table. */
export async function namesIn(path: string, fieldIds: FieldIds = new Map()): Promise<(name: string) => string> {
  const { schema } = (await footerOf(path)) ?? { schema: [] };
  if (!schema.some(({ field_id: id }) => id !== undefined)) return (name) => name;
  return (name) => schema.find(({ field_id: id }) => id !== undefined && id === fieldIds.get(name))?.name ?? name;
}

/** What a run does with rows whose key the table has: `append` leaves them out, `merge` replaces those that changed. */
export class KeyedRows {
  inserted = 0;
  /** Number of rows left out. */
  unchanged = 0;
  /** How many rows have different content in the table: `append` counts them as unchanged, too. */
  changed = 0;

  constructor(
    private readonly at: string,
    private readonly mode: KeyedMode,
    readonly index: KeyIndex,
  ) {}

  /** @throws {SinkError} `E_SINK_KEY` when a key occurs twice. */
  take(batch: Batch): Batch {
    const written: number[] = [];
    for (const [row, seen] of this.index.see(batch, this.mode === 'merge').entries()) {
      if (seen === 'twice') {
        const names = this.index.shape.key.join(' + ');
        throw new SinkError('E_SINK_KEY', `${this.at}: two rows have the same key, but ${this.mode} takes one row per key (${names})`);
      }
      if (seen === 'new') this.inserted += 1;
      if (seen === 'changed') this.changed += 1;
      if (seen === 'new' || (seen === 'changed' && this.mode === 'merge')) written.push(row);
      else this.unchanged += 1;
    }
    return batch.keep(written);
  }
}
