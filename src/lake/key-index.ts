import { createHash } from 'node:crypto';
import { type Value, SinkError } from '../core/index.js';
import { readRegular } from '../store/index.js';
import { KeySet, type Seen } from '../flow/index.js';
import { keyOf } from '../vector/index.js';
import type { ByteTarget } from '../parquet/index.js';

/**
 * Start of an index file: its name and version, which is increased when keys or contents are digested differently, and a number that shows the byte
 * order of the machine.
 */
const magic = Uint32Array.from([0x6b_73_6c_02, 0x01_02_03_04]);
const headWords = magic.length + 4;
const chunkWords = 4 * 65_536;

/**
 * The keys of a table, with a digest of the content of each: 16 to 32 bytes per row in memory, 16 in the file `<run>.keys.bin`, which contains
 * digests with a secret seed and no values.
 *
 * The keys of this run are separate from those of the table, because a key that occurs twice in one run is an error.
 */
export class KeyIndex {
  readonly #fresh: KeySet;

  constructor(private readonly table = new KeySet()) {
    this.#fresh = new KeySet(table.seed);
  }

  /**
   * @param sha256 Digest of the file in the manifest.
   * @returns `undefined` if the file is missing, was not written by `store` on such a machine, or has changed since.
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

  /** Number of keys of the table and of this run. */
  get rows(): number {
    return this.table.size + this.#fresh.size;
  }

  /**
   * Looks up a row in the table.
   *
   * @param key Values that identify it, none of them empty.
   * @returns `new` for a row that is not in the table yet.
   * @throws {SinkError} `E_SINK_KEY` when the key already occurred in this run.
   */
  see(key: readonly Value[], content: readonly unknown[]): Seen {
    const text = keyOf(key) ?? '';
    const seen = this.table.find(text, content);
    if (seen === 'new' && this.#fresh.see(text, content) !== 'new') {
      throw new SinkError('E_SINK_KEY', 'two rows have the same key, but append takes one row per key');
    }
    return seen;
  }

  /**
   * Adds a row of the table.
   *
   * @returns `new`, or why the row cannot be identified by its key and was not added.
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
