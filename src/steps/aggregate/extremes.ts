import type { DeclaredType, Value } from '../../core/index.js';
import { perGroup, type Accumulator } from './accumulator.js';
import { bytesOf, comparingPlain, plainAt, valueOf, type Plain } from './plain.js';

/** The smallest values, or the largest. */
export class Extremes implements Accumulator {
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
