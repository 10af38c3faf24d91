import { areacodes } from './areacodes.js';
import { bridges } from './bridges.js';
import type { Collection, CollectionName, RowOf } from './define.js';
import { leads } from './leads.js';
import { links } from './links.js';
import { users } from './users.js';

/** The collections of the service, in the order of its document. */
export const collections = { leads, bridges, areacodes, links, users } as const satisfies { readonly [N in CollectionName]: Collection<N> };

/** Every collection name. */
export const collectionNames = Object.keys(collections) as readonly CollectionName[];

export type Lead = RowOf<typeof leads>;
export type Bridge = RowOf<typeof bridges>;
export type AreaCode = RowOf<typeof areacodes>;
export type Link = RowOf<typeof links>;
export type User = RowOf<typeof users>;

/** The row type of each collection. */
export interface Rows {
  leads: Lead;
  bridges: Bridge;
  areacodes: AreaCode;
  links: Link;
  users: User;
}

export { areacodes, bridges, leads, links, users };
