import type { CollectionName } from './registry.js';

/** Rows of each collection that the service makes up where nobody says how many. Those of `areacodes` follow from the cities there are. */
export const generatedRows = {
  /** Rows of leads; 100,000 by default. */
  leads: 100_000,
  /** Rows of bridges; 200 by default. At least one when there are leads or links. */
  bridges: 200,
  /** Rows of links; 400 by default. */
  links: 400,
  /** Rows of users; 300 by default. At least one when there are bridges. */
  users: 300,
} satisfies Readonly<Record<Exclude<CollectionName, 'areacodes'>, number>>;

/** The name of a collection that is made up in any size. */
export type GeneratedName = keyof typeof generatedRows;

/** Those names, in the order of the service's document. */
export const generatedNames = Object.keys(generatedRows) as readonly GeneratedName[];

/** Rows of each of these collections. */
export type GeneratedCounts = { readonly [N in GeneratedName]: number };

/** How a new pipeline joins a collection. */
export interface StarterJoin {
  /** The field by which rows of other collections name a row of it: whatever has such a field can be joined. */
  readonly by: string;
  /** The steps, as lines of a pipeline file. */
  readonly lines: readonly string[];
}

/** How `init` joins each collection to others; `undefined` for those that no other names. */
export const starterJoins: { readonly [N in CollectionName]: StarterJoin | undefined } = {
  leads: undefined,
  bridges: {
    by: 'bridge_id',
    lines: [
      '- join: # adds bridge_title and bridge_niche',
      '    with: bridges',
      '    on: { bridge_id: id }',
      '    as: bridge',
      '    select: [title, niche]',
    ],
  },
  areacodes: {
    by: 'zipcode',
    lines: [
      '- derive: { zip_city: zip_city(zipcode), zip_state: zip_state(zipcode) }',
      '- join:',
      '    with: areacodes',
      '    on: { zip_state: state, zip_city: city }',
      '    normalize: casefold # ignore case',
      '    pick: { max: percent_of_area_code_in_city } # the main one of several',
      '    as: area',
      '    select: [area_code, city_population]',
    ],
  },
  links: undefined,
  users: {
    by: 'uid',
    lines: ['# Adds user_affid.', '- join: { with: users, on: { uid: uid }, as: user, select: [affid] }'],
  },
};
