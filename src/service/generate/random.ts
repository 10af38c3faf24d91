/**
 * Mixes a seed, a purpose and a position into 32 bits that depend on every bit of each (murmur3's finalizer). Each purpose is used in one place only, so that
 * nothing draws like anything else.
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

/** A stream of draws that is moved to a position before each row, so that a row does not depend on earlier ones (mulberry32). */
export class Draw {
  #state = 0;

  constructor(
    private readonly seed: number,
    private readonly purpose: number,
  ) {}

  /** Moves to the draws of a row. */
  seek(position: number): void {
    this.#state = mix(this.seed, this.purpose, position);
  }

  /** Draws a whole number from 0 up to but not including `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000) * end);
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

  /** Returns the result of `make` in about `percent` of a hundred draws, and an empty text otherwise. */
  sometimes(percent: number, make: () => string): string {
    return this.below(100) < percent ? make() : '';
  }

  /** Draws yes or no as written by a service that never settled on a spelling; mostly yes for a high percentage. */
  flag(percent: number): string {
    return this.pick(this.below(100) < percent ? ['Yes', 'Yes', 'yes', 'yes', '1'] : ['No', 'No', 'no', 'no', '0']);
  }
}
