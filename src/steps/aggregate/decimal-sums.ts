import { itemAt } from '../../core/index.js';
import type { Plain } from './plain.js';

/**
 * Exact sums of decimals, by group. The result is the true sum, rounded once. So it does not depend
 * on the order of the values, or on how many sums were merged.
 *
 * A sum is two numbers, the second of which holds what the first cannot (Knuth's two-sum), plus a whole number of units for the few sums that need more.
 */
export class DecimalSums {
  /** NaN if there was no value. */
  readonly #high: number[] = [];
  readonly #low: number[] = [];
  readonly #rest = new Map<number, bigint>();

  open(): void {
    this.#high.push(Number.NaN);
    this.#low.push(0);
  }

  add(group: number, value: number): void {
    const before = this.#high[group];
    if (before === undefined || Number.isNaN(before)) {
      this.#high[group] = value;
      return;
    }
    const sum = before + value;
    const lost = errorOf(before, value, sum);
    // Beyond the range of a number, everything is counted in units.
    if (!Number.isFinite(sum) || !Number.isFinite(lost)) return this.#addUnits(group, unitsOf(value));
    this.#high[group] = sum;
    if (lost === 0) return;
    const low = itemAt(this.#low, group);
    this.#low[group] = low + lost;
    const lostAgain = errorOf(low, lost, low + lost);
    if (lostAgain !== 0) this.#addUnits(group, unitsOf(lostAgain));
  }

  /** Returns the exact state of a group; `null` if there was no value. */
  state(group: number): readonly Plain[] {
    const high = itemAt(this.#high, group);
    return Number.isNaN(high) ? [null, null, null] : [high, itemAt(this.#low, group), this.#rest.get(group) ?? null];
  }

  merge(group: number, [high = null, low = null, rest = null]: readonly Plain[]): void {
    if (typeof high !== 'number') return;
    this.add(group, high);
    if (typeof low === 'number' && low !== 0) this.add(group, low);
    if (typeof rest === 'bigint') this.#addUnits(group, rest);
  }

  /** Returns the sum, divided by a number of values; `null` if there was no value. It is infinite beyond the range of a number. */
  result(group: number, count = 1): number | null {
    const high = itemAt(this.#high, group);
    if (Number.isNaN(high)) return null;
    const low = itemAt(this.#low, group);
    const rest = this.#rest.get(group);
    if (rest === undefined) return (high + low) / count;
    const units = unitsOf(high) + unitsOf(low) + rest;
    const sum = rounded(units);
    return Number.isFinite(sum) ? sum / count : rounded(units / BigInt(count));
  }

  #addUnits(group: number, units: bigint): void {
    this.#rest.set(group, (this.#rest.get(group) ?? 0n) + units);
  }
}

/** Returns the rounding error of a sum of two numbers. */
function errorOf(one: number, other: number, sum: number): number {
  const ofOther = sum - one;
  return one - (sum - ofOther) + (other - ofOther);
}

const view = new DataView(new ArrayBuffer(8));
const mantissaBits = 52n;

/** Returns a number in units of 2^-1074; every number is a whole number of these. */
function unitsOf(value: number): bigint {
  view.setFloat64(0, Math.abs(value));
  const bits = view.getBigUint64(0);
  const exponent = bits >> mantissaBits;
  const fraction = bits & ((1n << mantissaBits) - 1n);
  const units = exponent === 0n ? fraction : (fraction | (1n << mantissaBits)) << (exponent - 1n);
  return value < 0 ? -units : units;
}

/** Returns the number nearest to a number of units. */
function rounded(units: bigint): number {
  const size = units < 0n ? -units : units;
  const shift = Math.max(0, 4 * size.toString(16).length - 68);
  const top = size >> BigInt(shift);
  // What was cut off only matters if the rest is exactly half: one bit records that there was something.
  const isCut = top << BigInt(shift) !== size;
  const value = Number(isCut ? top | 1n : top) * 2 ** (shift - 1074);
  return units < 0n ? -value : value;
}
