import { collections } from '../../collections/index.js';
import type { ServedTable } from '../source.js';
import { rowWriter } from './json-row.js';
import { emailOf } from './people.js';
import type { Draw } from './random.js';
import { firstNames, lastNames } from './words.js';
import type { CountedGenerator, World } from './world.js';

/** Creates users: the owners of bridges and links, and the affiliates that leads come from. */
export const users: CountedGenerator = { purpose: 4, ids: { first: 100, step: 4 }, owner: undefined, table: usersTable };

function usersTable({ counts, ids }: World, draw: Draw): ServedTable {
  const write = rowWriter(collections.users);
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
