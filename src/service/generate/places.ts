import { regions, type Region } from './regions.js';
import { nodeRequire } from '../../core/index.js';
import { provinceOf } from '../../collections/index.js';

/** Real zipcodes and their cities, kept as short texts and typed arrays (about 2 MB). */
export interface Places {
  readonly zipCount: number;
  /** Returns a US zipcode, or the first three characters of a Canadian postal code. */
  zip(index: number): string;
  /** Returns the position in `cities` of a zipcode's city. */
  cityOf(zipIndex: number): number;
  readonly cities: readonly City[];
}

/** A city of one state or province. */
export interface City {
  readonly name: string;
  readonly region: Region;
  /** Number of its zipcodes: a measure of its size. */
  readonly zips: number;
}

let loaded: Places | undefined;

/** Returns the places of the `zipcodes` package, read on the first call and shared by all later ones. */
export function places(): Places {
  loaded ??= reduce([...entriesOf('zipcodes/lib/codes.js'), ...entriesOf('zipcodes/lib/codesCanada.js')]);
  return loaded;
}

interface Entry {
  readonly zip: string;
  readonly city: string;
  readonly state: string;
}

function reduce(entries: readonly Entry[]): Places {
  const regionOf = new Map(regions.map((region) => [region.state, region]));
  const positions = new Map<string, number>();
  const cities: { name: string; region: Region; zips: number }[] = [];
  const zips: string[] = [];
  const cityOf: number[] = [];
  for (const { zip, city, state } of entries) {
    const region = regionOf.get(provinceOf(zip) ?? state);
    if (!region) continue;
    const key = `${city}|${region.state}`;
    const position = positions.get(key) ?? cities.push({ name: city, region, zips: 0 }) - 1;
    positions.set(key, position);
    const found = cities[position];
    if (found) found.zips += 1;
    zips.push(zip.padEnd(width));
    cityOf.push(position);
  }
  const text = zips.join('');
  const cityIndexes = Uint16Array.from(cityOf);
  return {
    zipCount: zips.length,
    zip: (index) => text.slice(index * width, (index + 1) * width).trimEnd(),
    cityOf: (index) => cityIndexes[index] ?? 0,
    cities,
  };
}

const width = 5;

/** Loads a file of the package and releases its module, which holds 90 MB of objects. */
function entriesOf(specifier: string): readonly Entry[] {
  const require = nodeRequire();
  const exported: unknown = require(specifier);
  Reflect.deleteProperty(require.cache, require.resolve(specifier));
  if (!isRecord(exported) || !isRecord(exported['codes'])) throw new TypeError(`${specifier} has no codes`);
  return Object.values(exported['codes']).filter(isEntry);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isEntry(value: unknown): value is Entry {
  return isRecord(value) && typeof value['zip'] === 'string' && typeof value['city'] === 'string' && typeof value['state'] === 'string';
}
