import { itemAt, type DeclaredType } from '../../core/index.js';
import { perGroup, type Accumulator } from './accumulator.js';
import { DecimalSums } from './decimal-sums.js';
import { IntegerSums } from './integer-sums.js';
import type { Plain } from './plain.js';

/** Averages of numbers. */
export class Averages implements Accumulator {
  readonly width: number;
  bytes = 0;
  readonly #sums: IntegerSums | DecimalSums;
  readonly #counts: number[] = [];

  constructor(type: DeclaredType) {
    this.#sums = type === 'integer' ? new IntegerSums() : new DecimalSums();
    this.width = type === 'integer' ? 2 : 4;
  }

  open(): void {
    this.#sums.open();
    this.#counts.push(0);
    this.bytes += 3 * perGroup;
  }

  add(group: number, value: Plain): void {
    if (this.#sums instanceof IntegerSums) {
      if (typeof value === 'number' || typeof value === 'bigint') this.#sums.add(group, value);
    } else if (typeof value === 'number') this.#sums.add(group, value);
    this.#counts[group] = itemAt(this.#counts, group) + 1;
  }

  state(group: number): readonly Plain[] {
    return [itemAt(this.#counts, group), ...this.#sums.state(group)];
  }

  merge(group: number, [count, ...sum]: readonly Plain[]): void {
    this.#counts[group] = itemAt(this.#counts, group) + Number(count);
    this.#sums.merge(group, sum);
  }

  result(group: number): number | null {
    const count = itemAt(this.#counts, group);
    if (count === 0) return null;
    const sums = this.#sums;
    return sums instanceof IntegerSums ? Number(sums.result(group)) / count : sums.result(group, count);
  }
}
