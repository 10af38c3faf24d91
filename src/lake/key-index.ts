import { createHash } from 'node:crypto';
import { type Value, SinkError } from '../core/index.js';
import { readRegular } from '../store/index.js';
import { KeySet, type Seen } from '../flow/index.js';
import { keyOf } from '../vector/index.js';
import type { ByteTarget } from '../parquet/index.js';

/**
 * Begins an index file: name and version, which goes up when keys or contents are digested in another way, and a number that
 * shows in which order the machine writes bytes.
 */
const magic = Uint32Array.from([0x6b_73_6c_02, 0x01_02_03_04]);
const headWords = magic.length + 4;
const chunkWords = 4 * 65_536;

/**
 * Which keys a table has, and a digest of what belongs to each: 16 to 32 bytes per row in memory, 16 in the file
 * `<run>.keys.bin`, which holds digests with a secret start and no values.
 *
 * The keys of this run are apart from those of the table, because a key that comes twice in one run is a mistake.
 */
export class KeyIndex {
  readonly #fresh: KeySet;

  constructor(private readonly table = new KeySet()) {
    this.#fresh = new KeySet(table.seed);
  }

  /**
   * @param sha256 What the manifest says of the file.
   * @returns `undefined` when the file is missing or was not written by `store`, or not on such a machine, or has changed since.
   */
  static async load(path: string, sha256: string): Promise<KeyIndex | undefined> {
    const bytes = await readRegular(path).catch(() => undefined);
    if (bytes === undefined || bytes.length % 4 !== 0 || createHash('sha256').update(bytes).digest('hex') !== sha256) return undefined;
    const all = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    if (!magic.every((word, index) => all[index] === word)) return undefined;
    const keys = new KeySet(all.slice(magic.length, headWords));
    keys.restore(all.subarray(headWords));
    return new KeyIndex(keys);
  }

  /** Keys of the table and of this run. */
  get rows(): number {
    return this.table.size + this.#fresh.size;
  }

  /**
   * What the table has of a row.
   *
   * @param key Values that identify it, none of them empty.
   * @returns `new` for a row that belongs into the table.
   * @throws {SinkError} `E_SINK_KEY` when this run had the key before.
   */
  see(key: readonly Value[], content: readonly unknown[]): Seen {
    const text = keyOf(key) ?? '';
    const seen = this.table.find(text, content);
    if (seen === 'new' && this.#fresh.see(text, content) !== 'new') {
      throw new SinkError('E_SINK_KEY', 'two rows have the same key, and append takes one row per key');
    }
    return seen;
  }

  /**
   * Adds a row that the table has.
   *
   * @returns `new`; otherwise why it cannot be told by its key, and was not added.
   */
  add(key: readonly Value[], content: readonly unknown[]): 'new' | 'empty' | 'twice' {
    const text = keyOf(key);
    if (text === undefined) return 'empty';
    return this.table.see(text, content) === 'new' ? 'new' : 'twice';
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
