/**
 * Mixes a seed, a purpose and a position into 32 bits that depend on every bit of each (murmur3's finalizer).
 *
 * @example
 * mix(7, 1, 0) === mix(7, 1, 0); // true, in every process
 */
export function mix(seed: number, purpose: number, position: number): number {
  let h = Math.imul(seed ^ Math.imul(purpose + 1, 0x9e3779b1), 0x85ebca6b);
  h ^= h >>> 15;
  h = Math.imul(h ^ position, 0xc2b2ae35);
  h ^= h >>> 13;
  h = Math.imul(h ^ Math.floor(position / 0x1_0000_0000), 0x27d4eb2f);
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

/** A stream of draws that is moved to a place before each row, so that a row does not depend on earlier ones (mulberry32). */
export const purposes = {
  percent: 6,
  population: 7,
  owner: 8,
  order: 9,
  oddities: 10,
  faults: 11,
  drift: 12,
} as const;

export class Draw {
  #state = 0;
  readonly #seed: number;
  readonly #purpose: number;

  /** Streams with different seeds or purposes are independent. */
  constructor(seed: number, purpose: number) {
    this.#seed = seed;
    this.#purpose = purpose;
  }

  /** Moves to the draws of a row. */
  seek(position: number): void {
    this.#state = mix(this.#seed, this.#purpose, position);
  }

  /** Draws a whole number from 0 up to but not including `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000) * end);
  }

  /** Returns true in about `percent` of a hundred draws. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  /** Draws an entry of a list that has entries. */
  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }

  /** Draws digits, leading zeros included. */
  digits(length: number): string {
    return String(this.below(10 ** length)).padStart(length, '0');
  }

  /** Draws eight lower-case hex digits. */
  hex(): string {
    return this.below(0x1_0000_0000).toString(16).padStart(8, '0');
  }
}
