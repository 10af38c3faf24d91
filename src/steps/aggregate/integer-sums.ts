import { itemAt } from '../../core/index.js';
import type { Plain } from './plain.js';

/** Exact sums of whole numbers, by group, however large. */
export class IntegerSums {
  /** NaN where no value came. */
  readonly #sums: number[] = [];
  /** What a number cannot hold exactly. */
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

  /** What is known of a group; `null` when no value came. */
  state(group: number): readonly Plain[] {
    return [this.result(group)];
  }

  merge(group: number, [sum = null]: readonly Plain[]): void {
    if (typeof sum === 'bigint') this.add(group, Number.isSafeInteger(Number(sum)) ? Number(sum) : sum);
  }

  /** The sum, which may be beyond 64 bits; `null` when no value came. */
  result(group: number): bigint | null {
    const sum = itemAt(this.#sums, group);
    return Number.isNaN(sum) ? null : BigInt(sum) + (this.#rest.get(group) ?? 0n);
  }
}
