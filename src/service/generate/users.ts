import type { collections } from '../../collections/index.js';
import type { Draw } from './random.js';
import { firstNames, lastNames } from './words.js';
import type { FullRow, World } from './world.js';

/** Creates users: the owners of bridges and links, and the affiliates that leads come from. */
export function userRows({ ids }: World, draw: Draw): (index: number) => FullRow<typeof collections.users> {
  return (index) => {
    const uid = ids.users.idOf(index);
    return { uid, email: emailOf(draw.pick(firstNames), draw.pick(lastNames), uid), affid: affidOf(uid) };
  };
}

/** Returns the affiliate number of a user. */
export function affidOf(uid: string): string {
  return String(9000 + Number(uid));
}

/** Returns an email address in an example domain (RFC 2606) that no two numbers share. */
export function emailOf(firstname: string, lastname: string, number: string): string {
  return `${slug(firstname)}.${slug(lastname)}.${number}@example.${number.endsWith('3') ? 'org' : 'com'}`;
}

/** Turns a name into what can be before the @ of an address. */
function slug(name: string): string {
  const ascii = name.normalize('NFD').replace(/[^A-Za-z]/g, '');
  return ascii.toLowerCase();
}
