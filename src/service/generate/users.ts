import { collections } from '../../collections/index.js';
import type { ServedTable } from '../source.js';
import { rowWriter } from './json-row.js';
import { emailOf } from './people.js';
import { Draw } from './random.js';
import { firstNames, lastNames } from './words.js';
import { purposes, type World } from './world.js';

/** Creates users: the owners of bridges and links, and the affiliates that leads come from. */
export function usersTable({ seed, counts, ids }: World): ServedTable {
  const write = rowWriter(collections.users);
  const draw = new Draw(seed, purposes.users);
  return {
    count: counts.users,
    row: (index) => {
      draw.seek(index);
      const uid = ids.users.idOf(index);
      return write({ uid, email: emailOf(draw.pick(firstNames), draw.pick(lastNames), uid), affid: affidOf(uid) });
    },
    find: ids.users.find,
  };
}

/** Returns the affiliate number of a user. */
export function affidOf(uid: string): string {
  return String(9000 + Number(uid));
}
