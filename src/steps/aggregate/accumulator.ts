import type { Value } from '../../core/index.js';
import type { Plain } from './plain.js';

/** A result for each of several groups, which are numbered from 0. */
export interface Results {
  /** Approximate memory use, in bytes. */
  readonly bytes: number;
  /** Starts the next group. */
  open(): void;
  /** Adds a value of a row to a group; it is not `null`. */
  add(group: number, value: NonNullable<Plain>): void;
  /** Number of values in the state of a group. */
  readonly width: number;
  /** Returns the result; `undefined` if its type cannot hold it. */
  result(group: number): Value | undefined;
}

/** Results computed from rows, whose state can be stored. */
export interface Gathering extends Results {
  /** Returns the state of a group, to be merged with other states of the same group. */
  state(group: number): readonly Plain[];
}

/** Results computed from stored states. */
export interface Merging extends Results {
  merge(group: number, state: readonly Plain[]): void;
}

/** A result with a state of fixed size. */
export interface Accumulator extends Gathering, Merging {}

/** A result that needs all values. They are stored one by one next to the state, since a group can have more of them than fit into memory. */
export interface ValueAccumulator extends Gathering {
  /** Number of values, over all groups. */
  readonly size: number;
  /** Returns the values of a group, in the order of their type. */
  sorted(group: number): readonly Plain[];
}

/** Bytes per group for one value of the state. */
export const perGroup = 16;
