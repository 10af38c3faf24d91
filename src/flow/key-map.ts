import { randomFillSync } from 'node:crypto';
import { halfSipHash } from './half-sip-hash.js';

/** What stands for a text that is not there. */
const absent = -1;

/**
 * A number for each of many texts, in 22 to 32 bytes each whatever their length: what is kept of a text is a 96-bit digest, as `KeySet`
 * has it, with the same chance of a collision and a secret of its own. It has no limit on the number of entries, unlike `Map`, which ends
 * at 2^24.
 */
export class KeyMap {
  readonly #segments = Array.from({ length: 256 }, (): Segment | undefined => undefined);
  readonly #digest = new Uint32Array(3);

  /** @param seed Four words that the digests start from; answers do not depend on them. Default: random ones. */
  constructor(private readonly seed: Uint32Array = randomFillSync(new Uint32Array(4))) {}

  /** The number of a text; -1 when it has none. */
  get(text: string): number {
    halfSipHash(text, this.seed, this.#digest);
    return this.#segments[(this.#digest[0] ?? 0) >>> 24]?.get(this.#digest) ?? absent;
  }

  /**
   * Gives a text its number.
   *
   * @param value A whole number from 0 on, below 2^32.
   */
  set(text: string, value: number): void {
    halfSipHash(text, this.seed, this.#digest);
    (this.#segments[(this.#digest[0] ?? 0) >>> 24] ??= new Segment()).set(this.#digest, value);
  }

  /** Gives every text the number that a function makes of its own. */
  mapValues(valueOf: (value: number) => number): void {
    for (const segment of this.#segments) segment?.mapValues(valueOf);
  }

  /** Number of texts. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.size ?? 0), 0);
  }

  /** Bytes of its tables. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.bytes ?? 0), 0);
  }
}

const words = 4;

/** Open addressing with linear probing: three words of digest, one of value. A slot whose digest is three zeros is free. */
class Segment {
  #slots = new Uint32Array(16 * words);
  size = 0;

  get bytes(): number {
    return this.#slots.byteLength;
  }

  get(digest: Uint32Array): number {
    const slot = slotOf(this.#slots, digest);
    return isFree(this.#slots, slot) ? absent : (this.#slots[slot + 3] ?? absent);
  }

  set(digest: Uint32Array, value: number): void {
    if ((this.size + 1) * words > this.#slots.length * 0.75) this.#grow();
    const slots = this.#slots;
    const slot = slotOf(slots, digest);
    if (isFree(slots, slot)) {
      this.size += 1;
      slots.set(digest, slot);
      // A digest of zeros would make no entry.
      if (isFree(slots, slot)) slots[slot + 2] = 1;
    }
    slots[slot + 3] = value;
  }

  mapValues(valueOf: (value: number) => number): void {
    const slots = this.#slots;
    for (let slot = 0; slot < slots.length; slot += words) if (!isFree(slots, slot)) slots[slot + 3] = valueOf(slots[slot + 3] ?? 0);
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(Math.ceil((old.length / words) * 1.5) * words);
    for (let slot = 0; slot < old.length; slot += words) {
      if (!isFree(old, slot)) this.#slots.set(old.subarray(slot, slot + words), slotOf(this.#slots, old.subarray(slot, slot + 3)));
    }
  }
}

function isFree(slots: Uint32Array, slot: number): boolean {
  return slots[slot] === 0 && slots[slot + 1] === 0 && slots[slot + 2] === 0;
}

/** Where a digest is, or else the free slot that it gets. */
function slotOf(slots: Uint32Array, digest: Uint32Array): number {
  const a = digest[0] ?? 0;
  const b = digest[1] ?? 0;
  const given = digest[2] ?? 0;
  const c = (a | b | given) === 0 ? 1 : given;
  for (let slot = (b % (slots.length / words)) * words; ; slot = slot + words === slots.length ? 0 : slot + words) {
    const x = slots[slot];
    const y = slots[slot + 1];
    const z = slots[slot + 2];
    if ((x === a && y === b && z === c) || (x === 0 && y === 0 && z === 0)) return slot;
  }
}
