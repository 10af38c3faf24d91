import { areacodes } from './areacodes.js';
import { bridges } from './bridges.js';
import type { Collection, RowOf, SecretsOf } from './define.js';
import { leads } from './leads.js';
import { links } from './links.js';
import { users } from './users.js';

/**
 * The collections of the service, in the order of its document. All that this file exports is public.
 *
 * @example
 * const key = collections.areacodes.key; // ['area_code', 'city', 'state']
 */
export const collections = { leads, bridges, areacodes, links, users } as const satisfies { readonly [N in string]: Collection<N> };

/** The name of a collection that every service has. */
export type CollectionName = keyof typeof collections;

/**
 * Every collection name.
 *
 * @example
 * collectionNames.includes('leads'); // true
 */
export const collectionNames = Object.keys(collections) as readonly CollectionName[];

/** A row of `leads`; see `RowOf`. */
export type Lead = RowOf<typeof leads>;
/** A row of `bridges`, without its secret fields; see `RowOf`. */
export type Bridge = RowOf<typeof bridges>;
/** A row of `areacodes`; see `RowOf`. */
export type AreaCode = RowOf<typeof areacodes>;
/** A row of `links`, without its secret fields; see `RowOf`. */
export type Link = RowOf<typeof links>;
/** A row of `users`; see `RowOf`. */
export type User = RowOf<typeof users>;

/** The row type of each collection. */
export type Rows = {
  readonly leads: Lead;
  readonly bridges: Bridge;
  readonly areacodes: AreaCode;
  readonly links: Link;
  readonly users: User;
};

/** The secret fields of each collection. */
export type Secrets = { readonly [N in CollectionName]: SecretsOf<(typeof collections)[N]> };
