import { numbering, type Numbering } from './numbering.js';
import { mix } from './random.js';
import { niches, seasons } from './words.js';

/** Rows of each generated collection. Those of `areacodes` follow from the cities there are. */
export interface Counts {
  readonly leads: number;
  readonly bridges: number;
  readonly links: number;
  readonly users: number;
}

/** What the tables agree on, so that rows hang together: identifiers, and who owns what. */
export interface World {
  readonly seed: number;
  readonly counts: Counts;
  readonly ids: { readonly [N in keyof Counts]: Numbering };
  /** What rows of other collections repeat of a bridge. */
  bridge(index: number): BridgeHead;
}

export interface BridgeHead {
  readonly id: string;
  readonly uid: string;
  readonly niche: string;
  readonly campaignId: string;
  readonly campaignName: string;
}

/** Keep the draws of one kind apart from those of every other; the last four are those of quirks, faults and drift. */
export const purposes = {
  leads: 1,
  bridges: 2,
  links: 3,
  users: 4,
  areacodes: 5,
  percent: 6,
  population: 7,
  owner: 8,
  order: 9,
  oddities: 10,
  faults: 11,
  drift: 12,
} as const;

/** The world of a seed; the same seed and counts make the same one. */
export function createWorld(seed: number, counts: Counts): World {
  const ids = {
    leads: numbering({ seed, purpose: purposes.leads, first: 4_000_000, step: 7, count: counts.leads }),
    bridges: numbering({ seed, purpose: purposes.bridges, first: 1000, step: 3, count: counts.bridges }),
    links: numbering({ seed, purpose: purposes.links, first: 50_000, step: 5, count: counts.links }),
    users: numbering({ seed, purpose: purposes.users, first: 100, step: 4, count: counts.users }),
  };
  return {
    seed,
    counts,
    ids,
    bridge: (index) => {
      const draw = mix(seed, purposes.owner, index);
      const campaign = index % Math.ceil(counts.bridges / 4);
      const niche = niches[campaign % niches.length] ?? niches[0];
      return {
        id: ids.bridges.idOf(index),
        uid: ids.users.idOf(draw % counts.users),
        niche,
        campaignId: String(300 + campaign),
        campaignName: `${seasons[campaign % seasons.length] ?? seasons[0]} ${niche} ${campaign + 1}`,
      };
    },
  };
}
