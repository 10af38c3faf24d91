import type { CollectionName, GeneratedName } from '../../collections/index.js';
import { areacodes } from './areacodes.js';
import { bridges } from './bridges.js';
import { leads } from './leads.js';
import { links } from './links.js';
import { users } from './users.js';
import type { CountedGenerator, Generator } from './world.js';

/** The generator of each collection. */
export const generators = { leads, bridges, areacodes, links, users } satisfies { readonly [N in CollectionName]: Generator } & {
  readonly [N in GeneratedName]: CountedGenerator;
};
