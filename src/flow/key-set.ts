/**
 * A set of texts in at most 32 bytes each: what is kept of a text is a 128-bit digest (MurmurHash3 x86_128 over its
 * UTF-16 code units, public domain, Austin Appleby). Among a billion keys the chance of a single collision is below
 * 10^-20. It has no limit on the number of entries, unlike `Set`, which ends at 2^24.
 *
 * Slots of 16 bytes lie in 256 segments that grow by themselves, by half, when three quarters full; so the load stays
 * between 0.5 and 0.75, and growing holds only one segment twice.
 */
export class KeySet {
  readonly #segments = Array.from({ length: 256 }, () => new Segment());
  readonly #digest = new Uint32Array(4);

  /** Adds a text. @returns Whether it was new. */
  add(text: string): boolean {
    digest(text, this.#digest);
    return this.#segments[(this.#digest[0] ?? 0) >>> 24]?.add(this.#digest) ?? false;
  }

  /** Number of texts. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.size, 0);
  }

  /** Bytes of its tables. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }
}

const words = 4;

/** Open addressing with linear probing. A slot of four zeros is free; a digest of four zeros is stored as 0,0,0,1. */
class Segment {
  #slots = new Uint32Array(16 * words);
  size = 0;

  get bytes(): number {
    return this.#slots.byteLength;
  }

  add(key: Uint32Array): boolean {
    if ((this.size + 1) * words > this.#slots.length * 0.75) this.#grow();
    const a = key[0] ?? 0;
    const b = key[1] ?? 0;
    const c = key[2] ?? 0;
    const d = (a | b | c) === 0 && key[3] === 0 ? 1 : (key[3] ?? 0);
    const added = insert(this.#slots, a, b, c, d);
    if (added) this.size += 1;
    return added;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(Math.ceil((old.length / words) * 1.5) * words);
    for (let i = 0; i < old.length; i += words) {
      const [a = 0, b = 0, c = 0, d = 0] = [old[i], old[i + 1], old[i + 2], old[i + 3]];
      if ((a | b | c | d) !== 0) insert(this.#slots, a, b, c, d);
    }
  }
}

function insert(slots: Uint32Array, a: number, b: number, c: number, d: number): boolean {
  for (let i = (b % (slots.length / words)) * words; ; i = i + words === slots.length ? 0 : i + words) {
    const [w, x, y, z] = [slots[i], slots[i + 1], slots[i + 2], slots[i + 3]];
    if (w === a && x === b && y === c && z === d) return false;
    if (w === 0 && x === 0 && y === 0 && z === 0) {
      slots[i] = a;
      slots[i + 1] = b;
      slots[i + 2] = c;
      slots[i + 3] = d;
      return true;
    }
  }
}

const c1 = 0x239b961b;
const c2 = 0xab0e9789;
const c3 = 0x38b34ae5;
const c4 = 0xa1e38b93;

/** The 32-bit word at an index of a text: two code units, zero beyond its end. */
function word(text: string, index: number): number {
  const at = index * 2;
  const low = at < text.length ? text.charCodeAt(at) : 0;
  const high = at + 1 < text.length ? text.charCodeAt(at + 1) : 0;
  return low | (high << 16);
}

function rotate(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}

function finish(x: number): number {
  let h = x;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

function digest(text: string, into: Uint32Array): void {
  let h1 = 0;
  let h2 = 0;
  let h3 = 0;
  let h4 = 0;
  const count = Math.ceil(text.length / 2);
  for (let i = 0; i < count; i += 4) {
    h1 ^= Math.imul(rotate(Math.imul(word(text, i), c1), 15), c2);
    h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotate(Math.imul(word(text, i + 1), c2), 16), c3);
    h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotate(Math.imul(word(text, i + 2), c3), 17), c4);
    h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotate(Math.imul(word(text, i + 3), c4), 18), c1);
    h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  h1 ^= text.length;
  h2 ^= text.length;
  h3 ^= text.length;
  h4 ^= text.length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = finish((h2 + h1) | 0);
  h3 = finish((h3 + h1) | 0);
  h4 = finish((h4 + h1) | 0);
  h1 = (finish(h1) + h2 + h3 + h4) | 0;
  into[0] = h1;
  into[1] = h2 + h1;
  into[2] = h3 + h1;
  into[3] = h4 + h1;
}
