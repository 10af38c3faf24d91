import { collections } from '../../collections/index.js';
import type { ServedTable } from '../source.js';
import { rowWriter } from './json-row.js';
import { places, type City } from './places.js';
import { mix, purposes } from './random.js';
import type { Generator, World } from './world.js';

/**
 * Creates pairs of area code and city, ordered by area code: the cities of `zipcodes`, each with one to three area codes of its state. The pairs do not depend
 * on the seed; their numbers do. One small city in ten is left out, so that some zipcodes have no match.
 */
export const areacodes: Generator = { purpose: 5, table: areacodesTable };

function areacodesTable({ seed }: World): ServedTable {
  const write = rowWriter(collections.areacodes);
  return {
    get count() {
      return entries().length;
    },
    row: (index) => {
      const entry = entries()[index] ?? 0;
      const position = entry % shift;
      const city = places().cities[position] ?? nowhere;
      const code = String(Math.floor(entry / shift));
      const codes = areaCodesOf(city, position);
      const weights = codes.map((each) => 1 + (mix(seed, areacodes.purpose, position * 1000 + Number(each)) % 997));
      const weight = weights[codes.indexOf(code)] ?? 0;
      const draw = mix(seed, purposes.percent, entry) / 0x1_0000_0000;
      const people = 1 + (mix(seed, purposes.population, position) % 6000);
      return write({
        area_code: code,
        city: city.name,
        state: city.region.state,
        percent_of_area_code_in_city: (100 * draw * draw).toFixed(2),
        percent_of_city_in_area_code: ((100 * weight) / weights.reduce((sum, each) => sum + each, 0)).toFixed(2),
        city_fips_geoid: city.region.fips + String(position).padStart(5, '0'),
        city_population: String(city.zips * people),
      });
    },
    find: (id) => {
      if (!/^\d{3}$/.test(id)) return [];
      const [start, end] = [positionOf(Number(id) * shift), positionOf((Number(id) + 1) * shift)];
      return Array.from({ length: end - start }, (_, offset) => start + offset);
    },
  };
}

/** Returns one of the area codes of a city, for any number drawn; `undefined` if its region has none. */
export function areaCodeOf({ region, zips }: City, position: number, drawn: number): string | undefined {
  const { areaCodes } = region;
  const wanted = zips > 8 ? 3 : zips > 2 ? 2 : 1;
  const first = mix(0, areacodes.purpose, position);
  return areaCodes[(first + (drawn % Math.min(wanted, areaCodes.length))) % areaCodes.length];
}

/** Returns all area codes of a city: up to three of its state's, more for a bigger city. */
function areaCodesOf(city: City, position: number): readonly string[] {
  const drawn = [0, 1, 2].map((number) => areaCodeOf(city, position, number) ?? '');
  return [...new Set(drawn)].filter((code) => code !== '');
}

/** An entry is its area code times this, plus the position of its city, which is smaller. */
const shift = 0x1_0000;
const nowhere: City = { name: '', region: { state: '', fips: '', areaCodes: [] }, zips: 0 };
let sorted: Uint32Array | undefined;

/** Returns all pairs, computed on the first call and shared (about 120 KB). */
function entries(): Uint32Array {
  sorted ??= Uint32Array.from(
    places().cities.flatMap((city, position) => {
      const left = city.zips === 1 && mix(0, purposes.percent, position) % 10 === 0;
      return left ? [] : areaCodesOf(city, position).map((code) => Number(code) * shift + position);
    }),
  ).sort();
  return sorted;
}

/** Returns the first position whose entry is not below the given one. */
function positionOf(entry: number): number {
  let [low, high] = [0, entries().length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries()[middle] ?? 0) < entry) low = middle + 1;
    else high = middle;
  }
  return low;
}
