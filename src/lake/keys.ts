import { GateError, itemAt, SinkError } from '../core/index.js';
import { KeyMap } from '../flow/index.js';
import { type Batch, batchFromRows, type RowDigests, type Vector } from '../vector/index.js';
import { footerOf, readExactGroups, readGroups, type ByteTarget } from '../parquet/index.js';
import { sha256Text } from '../store/index.js';
import type { FieldIds } from './format.js';
import { type Manifest, type ManifestFile, sumOf } from './manifest.js';
import type { RowShape } from './row-shape.js';
import type { StoreRun } from './store-run.js';
import { deletedAt, isCurrent, isIndexed, placeOfAdded, validFrom, withValues } from './versions.js';

/** Name and version of an index file, which goes up when keys or contents are digested differently, and a number that shows the machine's byte order. */
const magic = Uint32Array.from([0x6b_73_6c_03, 0x01_02_03_04]);
const headWords = magic.length + 4;
const entryWords = 6;
const chunkWords = entryWords * 65_536;

/** The number of an entry is that of the file with its row, from 1; 0 while the row is in none that is finished. */
const fileMask = 0x07ff_ffff;
/** Whether this run has had the key. */
const seenBit = 0x8000_0000;
/** Whether the row is deleted, or is if its key proves to be missing. */
const goneBit = 0x4000_0000;
const unreadBit = 0x2000_0000;
/** Whether the row is marked as deleted, in the table before or by this run. */
const markedBit = 0x1000_0000;
/** Whether this run replaced the row only because the table has new columns, so that its version goes on. */
const extendedBit = 0x0800_0000;

export type KeyedMode = 'append' | 'merge';

/**
 * The keys of a table, with a digest of the content of each row and the number of its file: 32 to 40 bytes per row in memory, and 24
 * more while they are read. The file `<run>.keys.bin` has 24 per row: digests with a secret seed, and no values.
 */
export class KeyIndex {
  /** Names of files by number, from 1; those of the table before come first. */
  readonly #names: string[];
  /** How many rows of each file of the table before were replaced or deleted, without those that `staying` found in it. */
  readonly #leaving = new Map<number, number>();
  inserted = 0;
  /** Number of rows that were left out. */
  unchanged = 0;
  /** How many rows have different content in the table: `append` counts them as unchanged, too. */
  changed = 0;
  /** How many of the changed rows have other values in new columns only, and continue their version. */
  extended = 0;
  /** Number of rows that this run deletes, or marks as deleted. */
  deleted = 0;
  /** Rows that were marked as deleted before, and whose key this run has had. */
  #returned = 0;
  readonly #digestsOf: RowDigests;
  #continued: { readonly digestsOf: RowDigests; readonly since: (key: string) => Date } | undefined;

  /** @param files Those of the table before, with history those of current versions. */
  constructor(
    private readonly at: string,
    readonly shape: RowShape,
    private readonly map: KeyMap,
    readonly files: readonly ManifestFile[],
  ) {
    this.#names = files.map(({ name }) => name);
    this.#digestsOf = shape.digests(map.seed);
  }

  get rows(): number {
    return this.map.size - (placeOfAdded(deletedAt, this.shape.columns) < 0 ? this.deleted : 0);
  }

  /** Counts the rows of the table before that were not marked as deleted there. */
  unmarkedBefore(): number {
    let unmarked = sumOf(this.files, 'rows') - this.#returned;
    for (const entry of this.map.entries()) if (((entry[3] ?? 0) & markedBit) !== 0) unmarked -= 1;
    return unmarked;
  }

  /** Lets rows that are the same without new columns continue their versions. Memory: when these began, 24 to 32 bytes per row. */
  async continueVersions(landing: WrittenTable, withoutNew: RowShape, fieldIds: FieldIds | undefined): Promise<void> {
    const { files, shape } = this;
    const nights = new Map<number, number>();
    const numbers = new KeyMap();
    const from = placeOfAdded(validFrom, shape.columns);
    const take = ({ name }: ManifestFile, rows: number, vectors: readonly Vector[]) => {
      const keyAt = shape.keysOf(vectors);
      for (let row = 0; row < rows; row += 1) {
        const night = vectors[from]?.value(row);
        if (!(night instanceof Date)) throw new SinkError('E_SINK_VERIFY', `${this.at}: ${name} has a version that never began`);
        const number = nights.get(night.getTime()) ?? nights.size;
        nights.set(night.getTime(), number);
        numbers.open(keyAt(row) ?? '');
        numbers.put(number);
      }
    };
    await readRows(landing, files, shape, fieldIds, take, [...shape.keyInFiles, validFrom.name]);
    const times = [...nights.keys()];
    const since = (key: string) => new Date(itemAt(times, numbers.get(key)));
    this.#continued = { digestsOf: withoutNew.digests(this.map.seed), since };
  }

  /** Returns the files of the table before with rows that are no longer part of it. */
  touched(): readonly ManifestFile[] {
    return this.#filesOf(this.#leaving);
  }

  /**
   * Looks up rows, and adds those that are new. Others are left out, unless they changed.
   *
   * @param replaces Whether changed rows take the place of those in the table, instead of being left out, too.
   * @returns The rows to write. @throws {SinkError} `E_SINK_KEY` when a key occurs twice.
   */
  take(batch: Batch, replaces: boolean): Batch {
    const { map, shape } = this;
    const [keyAt, contents] = [shape.keysOf(batch.columns), this.#digestsOf(batch.rows, batch.columns)];
    const written: number[] = [];
    const without = this.#continued?.digestsOf(batch.rows, batch.columns);
    const since = new Map<number, Date>();
    for (let row = 0; row < batch.rows; row += 1) {
      const key = keyAt(row) ?? '';
      const number = map.open(key);
      const file = number & fileMask;
      if (number >= 0 && (file === 0 || number >= seenBit)) {
        const what = `${replaces ? 'merge' : 'append'} takes one row per key (${shape.key.join(' + ')})`;
        throw new SinkError('E_SINK_KEY', `${this.at}: two rows have the same key, but ${what}`);
      }
      const isNew = number < 0;
      const isMarked = !isNew && (number & markedBit) !== 0;
      const isSame = !isNew && !isMarked && map.has(contents, 2 * row);
      if (isNew) this.inserted += 1;
      else if (!isSame) this.changed += 1;
      if (isSame || (!isNew && !replaces)) {
        this.unchanged += 1;
        if (replaces) map.put((number | seenBit) >>> 0);
        continue;
      }
      if (isMarked) this.#returned += 1;
      if (!isNew) this.#leave(file);
      const began = !isNew && without && map.has(without, 2 * row) ? this.#continued?.since(key) : undefined;
      if (began) since.set(row, began);
      map.put(began ? extendedBit : 0);
      map.keep(contents, 2 * row);
      written.push(row);
    }
    this.extended += since.size;
    const begun = since.size === 0 ? batch : withValues(batch, shape.columns, validFrom, (value, row) => since.get(row) ?? value);
    return begun.keep(written);
  }

  /** Returns the files with rows that the run did not have. */
  unseen(): readonly ManifestFile[] {
    const found = new Set<number>();
    for (const entry of this.map.entries()) if (isUnseen(entry[3] ?? 0)) found.add((entry[3] ?? 0) & fileMask);
    return this.#filesOf(found);
  }

  isUnseen(key: string, file: string): boolean {
    const number = this.map.get(key);
    return number > 0 && isUnseen(number) && this.#names[(number & fileMask) - 1] === file;
  }

  /** Notes what becomes of a row that the run did not have. */
  mark(key: string, as: 'gone' | 'unread'): void {
    const file = this.map.get(key) & fileMask;
    this.map.put(as === 'gone' ? this.#deleted(file) : file | unreadBit);
  }

  /** Deletes all rows that are marked as unread. */
  deleteUnread(): void {
    this.map.mapValues((number) => ((number & unreadBit) === 0 ? number : this.#deleted(number & fileMask)));
  }

  #deleted(file: number): number {
    this.deleted += 1;
    this.#leave(file);
    return file | goneBit;
  }

  #leave(file: number): void {
    this.#leaving.set(file, (this.#leaving.get(file) ?? 0) + 1);
  }

  #filesOf(numbers: { has(file: number): boolean }): readonly ManifestFile[] {
    return this.files.filter((_, index) => numbers.has(index + 1));
  }

  /** Adds the rows of a file of the table when the index is built again. @returns What is wrong with a row, if anything. */
  add(name: string, rows: number, vectors: readonly Vector[]): string | undefined {
    const [keyAt, contents] = [this.shape.keysOf(vectors), this.#digestsOf(rows, vectors)];
    const number = this.#names.indexOf(name) + 1;
    const marks = vectors[placeOfAdded(deletedAt, this.shape.columns)];
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
   * Returns which rows of a file of the table before stay as they are, and which others are kept, as marked ones or as versions that end.
   * Those that are still in the index are then in no file until they are found in a new one.
   *
   * @throws {GateError} `E_GATE_VERIFY` if the index says otherwise of a row.
   */
  staying(file: ManifestFile, rows: number, vectors: readonly Vector[]) {
    const { map, shape } = this;
    const of = this.#numberOf(file);
    const [keyAt, contents] = [shape.keysOf(vectors), this.#digestsOf(rows, vectors)];
    const [stay, gone]: [number[], number[]] = [[], []];
    const [canMark, hasVersions] = [deletedAt, isCurrent].map((added) => placeOfAdded(added, shape.columns) >= 0);
    let left = 0;
    for (let row = 0; row < rows; row += 1) {
      const number = map.get(keyAt(row) ?? '');
      if (number < 0) throw this.#differs(file, 'it does not have a key of the file');
      const at = number & fileMask;
      const isElsewhere = at === 0 || at > this.files.length;
      if (at !== of && !isElsewhere) throw this.#differs(file, 'it has a key of the file in another one');
      const isGone = !isElsewhere && (number & goneBit) !== 0;
      if (isGone && canMark) map.put(markedBit);
      if (isElsewhere || isGone) {
        left += 1;
        if ((isGone && canMark) || (hasVersions && (number & extendedBit) === 0)) gone.push(row);
        continue;
      }
      if (!map.has(contents, 2 * row)) throw this.#differs(file, 'a row has other content');
      map.put(number & markedBit);
      stay.push(row);
    }
    this.#leaving.set(of, (this.#leaving.get(of) ?? 0) - left);
    return { stay, gone };
  }

  /** @throws {GateError} `E_GATE_VERIFY` unless all rows that had to leave a file were found in it. */
  checkLeft(file: ManifestFile): void {
    if ((this.#leaving.get(this.#numberOf(file)) ?? 0) !== 0) throw this.#differs(file, 'other rows left it than were replaced or deleted');
  }

  #numberOf({ name }: ManifestFile): number {
    return this.#names.indexOf(name) + 1;
  }

  #differs({ name }: ManifestFile, what: string): GateError {
    return new GateError('E_GATE_VERIFY', `${this.at}: the key index and ${name} differ: ${what}`);
  }

  /** Notes that rows are in a new file, if the index has them. @throws {SinkError} `E_SINK_VERIFY` for rows that were not written. */
  locate(name: string, rows: number, vectors: readonly Vector[]): void {
    const { map, shape } = this;
    if (!isIndexed({ name }, shape.columns)) return;
    const keyAt = shape.keysOf(vectors);
    if (this.#names.at(-1) !== name) this.#names.push(name);
    for (let row = 0; row < rows; row += 1) {
      const number = map.get(keyAt(row) ?? '');
      if (number < 0 || (number & fileMask) !== 0)
        throw new SinkError('E_SINK_VERIFY', `${this.at}: ${name} has a key that was not written to it`);
      map.put((this.#names.length | seenBit | (number & (markedBit | extendedBit))) >>> 0);
    }
  }

  /** Reads the keys of a new file back. */
  async locateIn(name: string, path: string): Promise<void> {
    const { keyInFiles } = this.shape;
    for await (const rows of readGroups(path, keyInFiles.length === 0 ? undefined : keyInFiles))
      this.locate(name, rows.length, this.shape.vectorsOf(batchFromRows(rows), { name }));
  }

  /** @param all Files of the table from now on; `undefined` if those of rows are not known. @throws {SinkError} `E_SINK_VERIFY`. */
  async store(target: ByteTarget, all: readonly ManifestFile[] | undefined): Promise<void> {
    const files = all?.filter((file) => isIndexed(file, this.shape.columns));
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
  const files = before.files.filter((file) => isIndexed(file, shape.columns));
  const index = new KeyIndex(at, shape, new KeyMap(undefined, 2, sumOf(files, 'rows')), files);
  await readRows(landing, files, shape, fieldIds, ({ name }, rows, vectors) => {
    const fault = index.add(name, rows, vectors);
    const remedy = 'name columns under key that identify every row, or publish the table again with mode: replace';
    if (fault !== undefined)
      throw new SinkError('E_SINK_KEY', `${path}: ${fault} (${key.join(' + ')}), so ${mode} cannot continue; ${remedy}`);
  });
  return index;
}

/**
 * Reads rows of files of a table, a part of a row group at a time.
 *
 * @param only Names of columns; the values of others are `null`. Default: all, with exact values.
 */
export async function readRows(
  landing: Pick<StoreRun, 'reading'>,
  files: readonly ManifestFile[],
  shape: RowShape,
  fieldIds: FieldIds | undefined,
  take: (file: ManifestFile, rows: number, vectors: readonly Vector[]) => void,
  only?: readonly string[],
): Promise<void> {
  for (const file of files) {
    await landing.reading(file.name, async (path) => {
      const nameOf = await namesIn(path, fieldIds);
      const groups = only ? readGroups(path, only.map(nameOf)) : readExactGroups(path);
      for await (const rows of groups) take(file, rows.length, shape.vectorsOf(batchFromRows(rows), file, nameOf));
    });
  }
}

/** Returns the index that the run of a manifest stored, if it is there and fits. */
export async function storedIndex(
  landing: Pick<StoreRun, 'at' | 'keys'>,
  { keys: stored, files: all }: Manifest,
  shape: RowShape,
  isLocated: boolean,
): Promise<KeyIndex | undefined> {
  const isSame = (one: readonly string[], other: readonly string[]) => one.join('\0') === other.join('\0');
  const files = all.filter((file) => isIndexed(file, shape.columns));
  if (!stored || stored.rows !== sumOf(files, 'rows') || (isLocated && !stored.located)) return undefined;
  if (!isSame(stored.columns, shape.key) || !isSame(stored.ignored ?? [], shape.ignored)) return undefined;
  const map = mapIn(await landing.keys(), stored.sha256);
  return map?.size === stored.rows ? new KeyIndex(landing.at, shape, map, files) : undefined;
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
