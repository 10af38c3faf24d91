import { provinceOf } from '../../collections/index.js';
import { usEntries, canadianEntries } from './zip-entries.js';

/** The place of a zipcode. `state` is the two-letter code of a US state or territory or a Canadian province. */
export interface Place {
  readonly city: string;
  readonly state: string;
}

/** The places looked up so far, by code: at most the 44,175 that exist. */
const known = new Map<string, Place>();

/**
 * Returns the place of a US zipcode (`12345`, `12345-6789`, nine digits) or a Canadian postal code (`K1A`, `K1A 0B1`).
 *
 * The package's provinces have gaps and are not used.
 *
 * @returns `undefined` for an unknown code or another form. Nothing is guessed, not even a lost leading zero.
 */
export function placeOf(zipcode: string): Place | undefined {
  // Most zipcodes already have the form of the table and need no parsing.
  const place = known.get(zipcode);
  if (place) return place;
  const code = normalizedZip(zipcode);
  return code === undefined ? undefined : (known.get(code) ?? lookUp(code));
}

/** Reads the table of US zipcodes. */
export function preparePlaces(): void {
  usEntries();
}

/** Returns the part of a zipcode that identifies a place: five digits, or the three characters of a Canadian sorting area. */
export function normalizedZip(zipcode: string): string | undefined {
  const text = zipcode.trim();
  const digits = /^(\d{5})(?:-?\d{4})?$/.exec(text);
  if (digits) return digits[1];
  return /^([A-Za-z]\d[A-Za-z])(?: ?\d[A-Za-z]\d)?$/.exec(text)?.[1]?.toUpperCase();
}

function lookUp(code: string): Place | undefined {
  const province = provinceOf(code);
  const entry = (code.length === 5 ? usEntries() : canadianEntries()).get(code);
  if (!entry) return undefined;
  const place = { city: entry.city, state: province ?? entry.state };
  known.set(code, place);
  return place;
}
