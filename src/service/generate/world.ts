import type { Collection, GeneratedCounts, GeneratedName } from '../../collections/index.js';
import { mix } from './random.js';

/** What the tables share, so that rows are consistent: their numbers of rows, and their identifiers. */
export interface World {
  readonly seed: number;
  readonly counts: GeneratedCounts;
  readonly ids: { readonly [N in GeneratedName]: Numbering };
}

/** A row with a text for every field of the collection. */
export type FullRow<C extends Collection> = { readonly [K in keyof C['fields']]: string };

/** Identifiers with gaps that map back to their row without an index. */
export interface Numbering {
  idOf(index: number): string;
  /** Returns the position of the row with this identifier, in a list; an empty list when there is none. */
  find(id: string): readonly number[];
}

/**
 * Numbers `count` rows upwards from `first`, one in every `step` numbers, at a place in it that the seed determines.
 *
 * @example
 * const leads = numbering({ seed: 7, purpose: 1, first: 4_000_000, step: 7, count: 1000 });
 * leads.find(leads.idOf(12)); // [12]
 */
export function numbering(plan: { seed: number; purpose: number; first: number; step: number; count: number }): Numbering {
  const { seed, purpose, first, step, count } = plan;
  const idOf = (index: number): string => String(first + index * step + (mix(seed, purpose, index) % step));
  return {
    idOf,
    find: (id) => {
      const index = Math.floor((Number(id) - first) / step);
      return index >= 0 && index < count && idOf(index) === id ? [index] : [];
    },
  };
}
