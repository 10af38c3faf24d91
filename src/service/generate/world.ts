import { generatedNames, type GeneratedCounts, type GeneratedName } from '../../collections/index.js';
import { byName } from '../../core/index.js';
import type { ServedTable } from '../source.js';
import { numbering, type Numbering } from './numbering.js';
import type { Draw } from './random.js';

/** What the tables share, so that rows are consistent: their numbers of rows, and their identifiers. */
export interface World {
  readonly seed: number;
  readonly counts: GeneratedCounts;
  readonly ids: { readonly [N in GeneratedName]: Numbering };
}

/** How the rows of a collection are generated. */
export interface Generator {
  /** Separates its draws from those of the other generators and from `purposes`; each number is used once. */
  readonly purpose: number;
  /** Generates the rows of a world. @param draw Draws for this purpose. */
  readonly table: (world: World, draw: Draw) => ServedTable;
}

/** How the rows of a collection of any size are generated. */
export interface CountedGenerator extends Generator {
  /** Its identifiers: the first, and the range of numbers that contains exactly one. */
  readonly ids: { readonly first: number; readonly step: number };
  /** The collection whose rows own those of this one, so it needs at least one row. */
  readonly owner: GeneratedName | undefined;
}

/** Returns the world of a seed; the same seed and counts always give the same world. */
export function createWorld(seed: number, counts: GeneratedCounts, generators: { readonly [N in GeneratedName]: CountedGenerator }): World {
  const idsOf = (name: GeneratedName): Numbering => {
    const { purpose, ids } = generators[name];
    return numbering({ seed, purpose, ...ids, count: counts[name] });
  };
  return { seed, counts, ids: byName(generatedNames, idsOf) };
}
