import { areacodes } from './areacodes.js';
import { bridges } from './bridges.js';
import type { Collection, RowOf, SecretsOf } from './define.js';
import { leads } from './leads.js';
import { links } from './links.js';
import { users } from './users.js';

/** Collections by name. */
export type Registry = Readonly<Record<string, Collection>>;

/** The collections of the service, in the order of its document. One more is a file of its own and a name here. */
export const collections = { leads, bridges, areacodes, links, users } as const satisfies { readonly [N in string]: Collection<N> };

export type CollectionName = keyof typeof collections;

/** Every collection name. */
export const collectionNames = Object.keys(collections) as readonly CollectionName[];

export type Lead = RowOf<typeof leads>;
export type Bridge = RowOf<typeof bridges>;
export type AreaCode = RowOf<typeof areacodes>;
export type Link = RowOf<typeof links>;
export type User = RowOf<typeof users>;

/** The row type of each collection. */
export type Rows = { readonly [N in CollectionName]: RowOf<(typeof collections)[N]> };

/** The secret fields of each collection. */
export type Secrets = { readonly [N in CollectionName]: SecretsOf<(typeof collections)[N]> };
