import type { Draw } from './random.js';
import { firstNames, lastNames } from './words.js';

const slugs = new Map<string, string>([...firstNames, ...lastNames].map((name) => [name, slug(name)]));

/** Returns an email address in an example domain (RFC 2606) that no two numbers share. */
export function emailOf(firstname: string, lastname: string, number: string): string {
  return `${slugs.get(firstname) ?? 'a'}.${slugs.get(lastname) ?? 'b'}.${number}@example.${number.endsWith('3') ? 'org' : 'com'}`;
}

/** Returns ten digits with a line number reserved for fiction (555-01xx), one time in twelve after a country code 1. */
export function phoneIn(areaCode: string, draw: Draw): string {
  return `${draw.below(12) === 0 ? '1' : ''}${areaCode}55501${draw.digits(2)}`;
}

/** Returns an address in a block reserved for documentation (RFC 5737). */
export function ipAddress(draw: Draw): string {
  return `${draw.pick(documentationBlocks)}.${draw.below(256)}`;
}
const documentationBlocks = ['192.0.2', '198.51.100', '203.0.113'] as const;

/** Returns yes or no as written by a service that never settled on a spelling; mostly yes for a high percentage. */
export function flag(draw: Draw, percent: number): string {
  return draw.pick(draw.chance(percent) ? yes : no);
}
const yes = ['Yes', 'Yes', 'yes', 'yes', '1'] as const;
const no = ['No', 'No', 'no', 'no', '0'] as const;

/** Returns the result of `make` in about `percent` of a hundred draws, and an empty text otherwise. */
export function sometimes(draw: Draw, percent: number, make: () => string): string {
  return draw.chance(percent) ? make() : '';
}

/** Turns a name into what can be before the @ of an address. */
function slug(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase();
}
