import type { CollectionName } from './registry.js';

/** Rows of each collection that the service makes up where nobody says how many. Those of `areacodes` follow from the cities there are. */
export const generatedRows = {
  leads: 100_000,
  bridges: 200,
  links: 400,
  users: 300,
} satisfies Readonly<Record<Exclude<CollectionName, 'areacodes'>, number>>;

export type GeneratedName = keyof typeof generatedRows;

export const generatedNames = Object.keys(generatedRows) as readonly GeneratedName[];
