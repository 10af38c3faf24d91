import type { DeclaredType } from '../../core/index.js';
import type { Merging, ValueAccumulator } from './accumulator.js';
import { Counts } from './counts.js';
import { bytesOf, comparingPlain, type Plain } from './plain.js';

/** Bytes for an entry of a set, in addition to its value. */
const perValue = 40;

/** The distinct values of each group. */
export class DistinctValues implements ValueAccumulator {
  readonly width = 0;
  bytes = 0;
  size = 0;
  /** A `Set` from the second value on. */
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

  result(group: number): bigint {
    const known = this.#at(group);
    return known === null ? 0n : BigInt(known instanceof Set ? known.size : 1);
  }

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

/** Counts the distinct stored values. Several runs can contain the same value; equal values arrive one after another. */
export class DistinctCounts implements Merging {
  readonly width = 0;
  readonly #counts = new Counts();
  #last: Plain = null;

  get bytes(): number {
    return this.#counts.bytes;
  }

  open(): void {
    this.#counts.open();
    this.#last = null;
  }

  add(group: number, value: NonNullable<Plain>): void {
    if (value === this.#last) return;
    this.#last = value;
    this.#counts.add(group, true);
  }

  merge(): void {
    // The values contain everything.
  }

  result(group: number): bigint {
    return this.#counts.result(group);
  }
}
