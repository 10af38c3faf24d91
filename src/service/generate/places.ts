import { provinceOf } from '../../collections/index.js';
import { nodeRequire } from '../../core/index.js';
import { mix } from './random.js';

/** Real zipcodes and their cities. */
export interface Places {
  /** US zipcodes, and the first three characters of Canadian postal codes. */
  readonly zips: readonly string[];
  /** The city of each zipcode, as a position in `cities`. */
  readonly cityOf: readonly number[];
  readonly cities: readonly City[];
}

/** A city of one state or province. */
export interface City {
  readonly name: string;
  /** Two-letter code of its state or province. */
  readonly state: string;
  /** Number of the state, from 0. */
  readonly stateNumber: number;
  /** Number of its zipcodes: a measure of its size. */
  readonly zips: number;
}

let loaded: Places | undefined;

/** Returns the places of the `zipcodes` package, read on the first call and shared by all later ones. */
export function places(): Places {
  if (loaded) return loaded;
  const zips: string[] = [];
  const cityOf: number[] = [];
  const cities: { name: string; state: string; stateNumber: number; zips: number }[] = [];
  const positions = new Map<string, number>();
  const states = new Map<string, number>();
  for (const entry of [...entriesOf('zipcodes/lib/codes.js'), ...entriesOf('zipcodes/lib/codesCanada.js')]) {
    const state = provinceOf(entry.zip) ?? entry.state;
    const stateNumber = states.get(state) ?? states.size;
    states.set(state, stateNumber);
    const key = `${entry.city}|${state}`;
    const position = positions.get(key) ?? cities.push({ name: entry.city, state, stateNumber, zips: 0 }) - 1;
    positions.set(key, position);
    const city = cities[position];
    if (city) city.zips += 1;
    zips.push(entry.zip);
    cityOf.push(position);
  }
  return (loaded = { zips, cityOf, cities });
}

/** Returns one of the area codes of a city, for any number drawn. A state has ten, a city one to three of them, more for a bigger one. */
export function areaCodeOf({ stateNumber, zips }: City, position: number, drawn: number): string {
  const codes = zips > 8 ? 3 : zips > 2 ? 2 : 1;
  return String(200 + 10 * stateNumber + ((mix(0, 5, position) + (drawn % codes)) % 10));
}

interface Entry {
  readonly zip: string;
  readonly city: string;
  readonly state: string;
}

/** Loads a file of the package and releases its module, which holds 90 MB of objects. */
function entriesOf(specifier: string): readonly Entry[] {
  const require = nodeRequire();
  const { codes } = require(specifier) as { readonly codes: Readonly<Record<string, Entry>> };
  Reflect.deleteProperty(require.cache, require.resolve(specifier));
  // Copied, because a part of a text keeps all of it.
  return Object.values(codes);
}
