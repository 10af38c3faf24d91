import { itemAt } from '../../core/index.js';
import { perGroup, type Accumulator } from './accumulator.js';
import type { Plain } from './plain.js';

/** Counts rows: all, or those with `true`. */
export class Counts implements Accumulator {
  readonly width = 1;
  readonly #counts: number[] = [];

  get bytes(): number {
    return this.#counts.length * perGroup;
  }

  open(): void {
    this.#counts.push(0);
  }

  add(group: number, value: Plain): void {
    if (value === true) this.#counts[group] = itemAt(this.#counts, group) + 1;
  }

  state(group: number): readonly Plain[] {
    return [itemAt(this.#counts, group)];
  }

  merge(group: number, [count]: readonly Plain[]): void {
    this.#counts[group] = itemAt(this.#counts, group) + Number(count);
  }

  result(group: number): bigint {
    return BigInt(itemAt(this.#counts, group));
  }
}
