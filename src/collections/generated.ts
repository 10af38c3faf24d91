import type { CollectionName } from './registry.js';

/** How many rows of each collection the service generates by default. `areacodes` follow from the cities. */
export const generatedRows = {
  leads: 100_000,
  bridges: 200,
  links: 400,
  users: 300,
} satisfies Readonly<Record<Exclude<CollectionName, 'areacodes'>, number>>;

export type GeneratedName = keyof typeof generatedRows;

export const generatedNames = Object.keys(generatedRows) as readonly GeneratedName[];
