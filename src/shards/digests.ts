import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { halfSipHash } from '../flow/index.js';

/** Returns a function that digests the keys of rows in 64 bits, keyed by the run that several processes share. */
export function digester(run: string): (name: string) => bigint {
  const hash = createHash('sha256').update(run).digest();
  const seed = Uint32Array.from([0, 4, 8, 12], (at) => hash.readUInt32LE(at));
  const words = new Uint32Array(2);
  const whole = new BigUint64Array(words.buffer);
  return (name) => {
    halfSipHash(name, seed, words);
    return whole[0] ?? 0n;
  };
}

/** Returns the digests in ascending order, as the bytes of a file. */
export function bytesOf(digests: BigUint64Array): Uint8Array {
  const sorted = digests.toSorted();
  return new Uint8Array(sorted.buffer, sorted.byteOffset, sorted.byteLength);
}

/** Sorted digests in a file of this machine. Reads are synchronous: most are in the system's cache. */
export class DigestFile {
  readonly length: number;
  readonly #file: number;
  readonly #one = new BigUint64Array(1);

  constructor(path: string) {
    this.length = statSync(path).size / 8;
    this.#file = openSync(path, 'r');
  }

  has(digest: bigint): boolean {
    const at = this.indexOf(digest);
    return at < this.length && this.#at(at) === digest;
  }

  /** Returns how many are smaller. */
  indexOf(digest: bigint): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#at(middle) < digest) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  slice(from: number, to: number): BigUint64Array {
    const found = new BigUint64Array(to - from);
    this.#read(found, from);
    return found;
  }

  close(): void {
    closeSync(this.#file);
  }

  #at(place: number): bigint {
    this.#read(this.#one, place);
    return this.#one[0] ?? 0n;
  }

  #read(into: BigUint64Array, place: number): void {
    const bytes = new Uint8Array(into.buffer);
    for (let read = 0; read < bytes.length;) {
      const count = readSync(this.#file, bytes, read, bytes.length - read, place * 8 + read);
      if (count === 0) throw new Error('a file of digests is too short');
      read += count;
    }
  }
}

/** Digests that are compared at a time: 16 MB, however many rows there are. */
const sliced = 2 ** 21;

/** Returns whether a digest is in two files, or in one and among others. */
export function areRepeated(files: readonly DigestFile[], others: BigUint64Array): boolean {
  const sorted = others.toSorted();
  const all = files.reduce((sum, { length }) => sum + length, sorted.length);
  const slices = BigInt(Math.ceil(all / sliced));
  const places = files.map(() => 0);
  let next = 0;
  for (let slice = 1n; slice <= slices; slice += 1n) {
    const end = (2n ** 64n * slice) / slices;
    const parts = files.map((file, index) => {
      const [from = 0, to] = [places[index], end === 2n ** 64n ? file.length : file.indexOf(end)];
      places[index] = to;
      return file.slice(from, to);
    });
    const begin = next;
    while (next < sorted.length && (sorted[next] ?? 0n) < end) next += 1;
    if (hasRepeats([...parts, sorted.subarray(begin, next)])) return true;
  }
  return false;
}

function hasRepeats(parts: readonly BigUint64Array[]): boolean {
  const all = new BigUint64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  // Words are numbers, which take less than a `bigint` each.
  const words = new Uint32Array(all.sort().buffer);
  for (let word = 2; word < words.length; word += 2)
    if (words[word] === words[word - 2] && words[word + 1] === words[word - 1]) return true;
  return false;
}
