import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { provinceOf } from '../../collections/index.js';
import { LeadstreamError } from '../../core/index.js';

/** Where a zipcode is. `state` is the two-letter code of a US state or territory or a Canadian province. */
export interface Place {
  readonly city: string;
  readonly state: string;
}

let table: ReadonlyMap<string, Place> | undefined;

/**
 * The place of a US zipcode (`12345`, `12345-6789`, nine digits) or a Canadian postal code (`K1A`, `K1A 0B1`).
 *
 * The table comes from the package `zipcodes` on first use. Its files are scanned as text: importing them would cost 90 MB
 * of memory and four times as long, for the same 44,175 entries. Its provinces have holes and are not used.
 *
 * @returns `undefined` for a code that is not known or has another form. Nothing is guessed, not even a lost leading zero.
 */
export function placeOf(zipcode: string): Place | undefined {
  table ??= loadPlaces();
  // Most zipcodes have the form of the table already, and need not be taken apart.
  const place = table.get(zipcode);
  if (place) return place;
  const code = normalizedZip(zipcode);
  return code === undefined ? undefined : table.get(code);
}

/** The part of a zipcode that names a place: five digits, or the three characters of a Canadian sorting area. */
export function normalizedZip(zipcode: string): string | undefined {
  const text = zipcode.trim();
  const digits = /^(\d{5})(?:-?\d{4})?$/.exec(text);
  if (digits) return digits[1];
  return /^([A-Za-z]\d[A-Za-z])(?: ?\d[A-Za-z]\d)?$/.exec(text)?.[1]?.toUpperCase();
}

function loadPlaces(): ReadonlyMap<string, Place> {
  const require = createRequire(import.meta.url);
  const places = new Map<string, Place>();
  const shared = new Map<string, Place>();
  for (const file of ['zipcodes/lib/codes.js', 'zipcodes/lib/codesCanada.js']) {
    const text = readFileSync(require.resolve(file), 'utf8');
    for (const [, zip = '', city = '', region = ''] of text.matchAll(/"zip":"([^"]+)"[^{}]*?"city":"([^"]*)","state":"([^"]*)"/g)) {
      const state = provinceOf(zip) ?? region;
      const name = `${city}|${state}`;
      const place = shared.get(name) ?? { city, state };
      shared.set(name, place);
      places.set(zip, place);
    }
  }
  if (places.size < 40_000) throw new LeadstreamError('E_RUN_FAILED', 'the table of the package zipcodes has another form than expected');
  return places;
}
