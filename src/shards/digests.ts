import { createHash } from 'node:crypto';
import { itemAt } from '../core/index.js';
import { halfSipHash } from '../flow/index.js';
import type { Pipeline } from '../plan/index.js';
import { namesOf } from '../source/index.js';
import type { ScratchFile } from '../store/index.js';
import type { RecordBatch } from '../vector/index.js';
import type { ShardPlan } from './document.js';

/** Returns a function that digests the keys of rows in 64 bits, keyed by the run that several processes share. */
export function digesting({ plan: { collection } }: Pipeline, { run }: Pick<ShardPlan, 'run'>): (batch: RecordBatch) => readonly bigint[] {
  const hash = createHash('sha256').update(run).digest();
  const seed = Uint32Array.from([0, 4, 8, 12], (at) => hash.readUInt32LE(at));
  const words = new Uint32Array(2);
  const whole = new BigUint64Array(words.buffer);
  return (batch) =>
    namesOf(batch, collection.key).map((name) => {
      halfSipHash(name, seed, words);
      return itemAt(whole, 0);
    });
}

/** Digests in ascending order in a file of this machine. */
export class DigestFile {
  constructor(
    private readonly file: ScratchFile,
    readonly length: number,
  ) {}

  has(digest: bigint): boolean {
    const at = this.#countBelow(digest);
    return at < this.length && this.#at(at) === digest;
  }

  /** Returns the bytes of those from a digest up to another. */
  between(from: bigint, to: bigint): Buffer {
    const at = this.#countBelow(from);
    return this.#read(at, this.#countBelow(to) - at);
  }

  #countBelow(digest: bigint): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#at(middle) < digest) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #at(place: number): bigint {
    return this.#read(place, 1).readBigUInt64LE();
  }

  #read(place: number, count: number): Buffer {
    return itemAt(this.file.readAll([{ at: place * 8, length: count * 8 }]), 0);
  }
}

/** Digests that are compared at a time: 8 MB, however many rows there are. */
const sliced = 2 ** 20;

/** Returns whether a digest is in two files, or in one and among others, which differ. */
export function areRepeated(files: readonly DigestFile[], others: readonly bigint[]): boolean {
  const slices = Math.ceil(files.reduce((sum, { length }) => sum + length, others.length) / sliced);
  const border = (slice: number) => (BigInt(slice) << 64n) / BigInt(slices);
  for (let slice = 0; slice < slices; slice += 1) {
    const [from, to] = [border(slice), border(slice + 1)];
    const among = BigUint64Array.from(others.filter((digest) => digest >= from && digest < to));
    const bytes = Buffer.concat([...files.map((file) => file.between(from, to)), new Uint8Array(among.buffer)]);
    const digests = new BigUint64Array(new Uint8Array(bytes).buffer).sort();
    if (digests.some((digest, index) => digest === digests[index - 1])) return true;
  }
  return false;
}
