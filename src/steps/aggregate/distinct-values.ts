import type { DeclaredType } from '../../core/index.js';
import type { Accumulator } from './accumulators.js';
import { bytesOf, comparingPlain, type Plain } from './plain.js';

/** An entry of a set, beside its value. */
const perValue = 40;

/** The different values of every group. What is known of a group is stored value by value, since one group can have more than memory holds. */
export class DistinctValues implements Accumulator {
  readonly width = 0;
  bytes = 0;
  /** Values, over all groups. */
  size = 0;
  /** A set from the second value on. */
  readonly #values: (Plain | Set<NonNullable<Plain>>)[] = [];
  readonly #compare: (one: Plain, other: Plain) => number;

  constructor(type: DeclaredType) {
    this.#compare = comparingPlain(type);
  }

  open(): void {
    this.#values.push(null);
    this.bytes += perValue;
  }

  add(group: number, value: NonNullable<Plain>): void {
    const known = this.#values[group] ?? null;
    if (known === value) return;
    if (known instanceof Set) {
      const { size } = known;
      if (known.add(value).size === size) return;
    } else this.#values[group] = known === null ? value : new Set([known, value]);
    this.size += 1;
    this.bytes += perValue + bytesOf(value);
  }

  state(): readonly Plain[] {
    return [];
  }

  merge(): void {
    throw new Error('different values are merged value by value');
  }

  result(group: number): bigint {
    const known = this.#at(group);
    return known === null ? 0n : BigInt(known instanceof Set ? known.size : 1);
  }

  /** The values of a group, in their order. */
  sorted(group: number): readonly Plain[] {
    const known = this.#at(group);
    if (known === null) return [];
    return known instanceof Set ? [...known].sort(this.#compare) : [known];
  }

  #at(group: number): Plain | Set<NonNullable<Plain>> {
    const known = this.#values[group];
    if (known === undefined) throw new Error(`there is no group ${group}`);
    return known;
  }
}
