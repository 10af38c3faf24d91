import { provinceOf } from '../../collections/index.js';
import { usEntries, canadianEntries } from './zip-entries.js';

/** Where a zipcode is. `state` is the two-letter code of a US state or territory or a Canadian province. */
export interface Place {
  readonly city: string;
  readonly state: string;
}

/** The places that were asked for, by their codes: at most the 44,175 that there are. */
const known = new Map<string, Place>();

/**
 * The place of a US zipcode (`12345`, `12345-6789`, nine digits) or a Canadian postal code (`K1A`, `K1A 0B1`).
 *
 * The package's provinces have holes and are not used.
 *
 * @returns `undefined` for a code that is not known or has another form. Nothing is guessed, not even a lost leading zero.
 */
export function placeOf(zipcode: string): Place | undefined {
  // Most zipcodes have the form of the table already, and need not be taken apart.
  const place = known.get(zipcode);
  if (place) return place;
  const code = normalizedZip(zipcode);
  return code === undefined ? undefined : (known.get(code) ?? lookUp(code));
}

/** Reads the table of US zipcodes. */
export function preparePlaces(): void {
  usEntries();
}

/** The part of a zipcode that names a place: five digits, or the three characters of a Canadian sorting area. */
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
