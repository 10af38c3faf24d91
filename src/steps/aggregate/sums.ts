import { perGroup, type Accumulator } from './accumulator.js';
import { DecimalSums } from './decimal-sums.js';
import { IntegerSums } from './integer-sums.js';
import type { Plain } from './plain.js';

/** Sums of whole numbers, up to 64 bits. */
export class Int64Sums implements Accumulator {
  readonly width = 1;
  bytes = 0;
  readonly #sums = new IntegerSums();

  open(): void {
    this.#sums.open();
    this.bytes += perGroup;
  }

  add(group: number, value: Plain): void {
    if (typeof value === 'number' || typeof value === 'bigint') this.#sums.add(group, value);
  }

  state(group: number): readonly Plain[] {
    return this.#sums.state(group);
  }

  merge(group: number, state: readonly Plain[]): void {
    this.#sums.merge(group, state);
  }

  result(group: number): bigint | null | undefined {
    const sum = this.#sums.result(group);
    return sum === null || BigInt.asIntN(64, sum) === sum ? sum : undefined;
  }
}

/** Sums of decimals. */
export class DoubleSums implements Accumulator {
  readonly width = 3;
  bytes = 0;
  readonly #sums = new DecimalSums();

  open(): void {
    this.#sums.open();
    this.bytes += 2 * perGroup;
  }

  add(group: number, value: Plain): void {
    if (typeof value === 'number') this.#sums.add(group, value);
  }

  state(group: number): readonly Plain[] {
    return this.#sums.state(group);
  }

  merge(group: number, state: readonly Plain[]): void {
    this.#sums.merge(group, state);
  }

  result(group: number): number | null | undefined {
    const sum = this.#sums.result(group);
    return sum === null || Number.isFinite(sum) ? sum : undefined;
  }
}
