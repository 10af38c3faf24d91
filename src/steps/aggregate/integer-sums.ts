import { itemAt } from '../../core/index.js';
import type { Plain } from './plain.js';

/** Exact sums of whole numbers, by group, of any size. */
export class IntegerSums {
  /** NaN if there was no value. */
  readonly #sums: number[] = [];
  /** The part that a number cannot hold exactly. */
  readonly #rest = new Map<number, bigint>();

  open(): void {
    this.#sums.push(Number.NaN);
  }

  add(group: number, value: number | bigint): void {
    const known = itemAt(this.#sums, group);
    const before = Number.isNaN(known) ? 0 : known;
    const sum = typeof value === 'bigint' ? Number.NaN : before + value;
    if (Number.isSafeInteger(sum)) {
      this.#sums[group] = sum;
      return;
    }
    this.#rest.set(group, (this.#rest.get(group) ?? 0n) + BigInt(before) + BigInt(value));
    this.#sums[group] = 0;
  }

  /** Returns the state of a group; `null` if there was no value. */
  state(group: number): readonly Plain[] {
    return [this.result(group)];
  }

  merge(group: number, [sum = null]: readonly Plain[]): void {
    if (typeof sum === 'bigint') this.add(group, Number.isSafeInteger(Number(sum)) ? Number(sum) : sum);
  }

  /** Returns the sum, which may be beyond 64 bits; `null` if there was no value. */
  result(group: number): bigint | null {
    const sum = itemAt(this.#sums, group);
    return Number.isNaN(sum) ? null : BigInt(sum) + (this.#rest.get(group) ?? 0n);
  }
}
