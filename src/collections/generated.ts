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
