import { generatedNames, type GeneratedCounts, type GeneratedName } from '../../collections/index.js';
import { byName } from '../../core/index.js';
import type { ServedTable } from '../source.js';
import { numbering, type Numbering } from './numbering.js';
import type { Draw } from './random.js';

/** What the tables agree on, so that rows hang together: how many there are, and their identifiers. */
export interface World {
  readonly seed: number;
  readonly counts: GeneratedCounts;
  readonly ids: { readonly [N in GeneratedName]: Numbering };
}

/** How the rows of a collection are made up. */
export interface Generator {
  /** Keeps its draws apart from those of every other generator, and from `purposes`; no number comes twice. */
  readonly purpose: number;
  /** The rows of a world. @param draw Draws of this purpose. */
  readonly table: (world: World, draw: Draw) => ServedTable;
}

/** How the rows of a collection are made up that has as many as somebody wants. */
export interface CountedGenerator extends Generator {
  /** Its identifiers: the first, and within how many numbers there is one. */
  readonly ids: { readonly first: number; readonly step: number };
  /** The collection whose rows own those of this one, so that it needs at least one of them. */
  readonly owner: GeneratedName | undefined;
}

/** The world of a seed; the same seed and counts make the same one. */
export function createWorld(seed: number, counts: GeneratedCounts, generators: { readonly [N in GeneratedName]: CountedGenerator }): World {
  const idsOf = (name: GeneratedName): Numbering => {
    const { purpose, ids } = generators[name];
    return numbering({ seed, purpose, ...ids, count: counts[name] });
  };
  return { seed, counts, ids: byName(generatedNames, idsOf) };
}
