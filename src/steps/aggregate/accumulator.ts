import type { Value } from '../../core/index.js';
import type { Plain } from './plain.js';

/** One result of groups that are numbered from 0. */
export interface Results {
  /** About how many bytes of memory it takes. */
  readonly bytes: number;
  /** Begins the next group. */
  open(): void;
  /** Takes a value of a row of a group, which is not `null`. */
  add(group: number, value: NonNullable<Plain>): void;
  /** How many values the state of a group has. */
  readonly width: number;
  /** The result; `undefined` when its type cannot hold it. */
  result(group: number): Value | undefined;
}

/** Results of the rows that came, some of which can be stored. */
export interface Gathering extends Results {
  /** What is known of a group, to be merged with what others know of it. */
  state(group: number): readonly Plain[];
}

/** Results of what was stored. */
export interface Merging extends Results {
  merge(group: number, state: readonly Plain[]): void;
}

/** A result for which a state of a fixed size is enough. */
export interface Accumulator extends Gathering, Merging {}

/** A result that needs the values. They are stored one by one next to the state, since a group can have more of them than memory holds. */
export interface ValueAccumulator extends Gathering {
  /** How many values it has, over all groups. */
  readonly size: number;
  /** The values of a group, in the order of their type. */
  sorted(group: number): readonly Plain[];
}

/** What a group takes for a value of its state. */
export const perGroup = 16;
