import type { collections } from '../../collections/index.js';
import { itemAt } from '../../core/index.js';
import { areaCodeOf, places, type City } from './places.js';
import { mix } from './random.js';
import type { FullRow } from './world.js';

/** A pair of area code and city. */
interface Entry {
  readonly code: string;
  readonly city: City;
  readonly position: number;
}

let sorted: readonly Entry[] | undefined;

/**
 * Returns the pairs of area code and city, ordered by area code: the cities of `zipcodes`, each with one to three area codes. They do not depend on a seed.
 * One small city in ten is left out, so that some zipcodes have no match.
 */
export function areaCodeEntries(): readonly Entry[] {
  sorted ??= places()
    .cities.flatMap((city, position) => {
      if (city.zips === 1 && mix(0, 6, position) % 10 === 0) return [];
      const codes = new Set([0, 1, 2].map((drawn) => areaCodeOf(city, position, drawn)));
      return [...codes].map((code) => ({ code, city, position }));
    })
    .sort((a, b) => Number(a.code) - Number(b.code) || a.position - b.position);
  return sorted;
}

/** Creates the rows of these entries; the seed determines their numbers. */
export function areaCodeRow(seed: number, index: number): FullRow<typeof collections.areacodes> {
  const { code, city, position } = itemAt(areaCodeEntries(), index);
  const share = (purpose: number) => mix(seed, purpose, Number(code) * 0x1_0000 + position) / 0x1_0000_0000;
  return {
    area_code: code,
    city: city.name,
    state: city.state,
    percent_of_area_code_in_city: (100 * share(6) ** 2).toFixed(2),
    percent_of_city_in_area_code: (100 * share(5)).toFixed(2),
    city_fips_geoid: String(city.stateNumber).padStart(2, '0') + String(position).padStart(5, '0'),
    city_population: String(city.zips * (1 + (mix(seed, 7, position) % 6000))),
  };
}
