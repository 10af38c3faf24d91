import type { CollectionName } from './registry.js';

/** Rows of each collection that the service makes up where nobody says how many. Those of `areacodes` follow from the cities there are. */
export const generatedRows = {
  leads: 100_000,
  bridges: 200,
  links: 400,
  users: 300,
} satisfies Readonly<Record<Exclude<CollectionName, 'areacodes'>, number>>;

/** The name of a collection that is made up in any size. */
export type GeneratedName = keyof typeof generatedRows;

/** Those names, in the order of the service's document. */
export const generatedNames = Object.keys(generatedRows) as readonly GeneratedName[];

/** Rows of each of these collections. */
export type GeneratedCounts = { readonly [N in GeneratedName]: number };
