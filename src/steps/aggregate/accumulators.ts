import { itemAt, type DeclaredType, type Value } from '../../core/index.js';
import { DecimalSums } from './decimal-sums.js';
import type { AggregateName } from './functions.js';
import { IntegerSums } from './integer-sums.js';
import { bytesOf, comparingPlain, plainAt, valueOf, type Plain } from './plain.js';

/** One result of groups that are numbered from 0. */
export interface Accumulator {
  /** About how many bytes of memory it takes. */
  readonly bytes: number;
  /** Begins the next group. */
  open(): void;
  /** Takes a value of a row of a group, which is not `null`. */
  add(group: number, value: NonNullable<Plain>): void;
  /** How many values `state` has. */
  readonly width: number;
  /** What is known of a group, to be merged with what others know of it. */
  state(group: number): readonly Plain[];
  merge(group: number, state: readonly Plain[]): void;
  /** The result; `undefined` when its type cannot hold it. */
  result(group: number): Value | undefined;
}

const perGroup = 16;

/** Opens what computes a result. @param type Type of the values that it takes. */
export function accumulator(name: Exclude<AggregateName, 'count_distinct'>, type: DeclaredType): Accumulator {
  if (name === 'count') return new Counts();
  if (name === 'min' || name === 'max') return new Extremes(type, name === 'max');
  if (name === 'avg') return new Averages(type);
  return type === 'integer' ? new Int64Sums() : new DoubleSums();
}

/** Counts rows: all, or those that have `true`. */
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

class Extremes implements Accumulator {
  readonly width = 1;
  bytes = 0;
  readonly #values: Plain[] = [];
  readonly #compare: (one: Plain, other: Plain) => number;

  constructor(
    private readonly type: DeclaredType,
    private readonly greatest: boolean,
  ) {
    this.#compare = comparingPlain(type);
  }

  open(): void {
    this.#values.push(null);
    this.bytes += perGroup;
  }

  add(group: number, value: Plain): void {
    const known = plainAt(this.#values, group);
    if (known !== null && (this.greatest ? this.#compare(value, known) <= 0 : this.#compare(value, known) >= 0)) return;
    this.#values[group] = value;
    this.bytes += bytesOf(value) - (known === null ? 0 : bytesOf(known));
  }

  state(group: number): readonly Plain[] {
    return [plainAt(this.#values, group)];
  }

  merge(group: number, [value = null]: readonly Plain[]): void {
    if (value !== null) this.add(group, value);
  }

  result(group: number): Value {
    return valueOf(plainAt(this.#values, group), this.type);
  }
}

class Int64Sums implements Accumulator {
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

class DoubleSums implements Accumulator {
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

class Averages implements Accumulator {
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
