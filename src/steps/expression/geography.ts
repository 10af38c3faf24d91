import { placeOfCode, type Place } from '../../collections/index.js';

/**
 * Returns the city of a US or Canadian zipcode, like `zip_city` in pipeline files.
 *
 * Memory: 5 MB for the table of the package `zipcodes`, which is read at the first call; a bundle needs that package next to it.
 *
 * @param zip For example `10001`, `10001-1234`, `K1A` or `K1A 0B1`.
 * @returns `null` for `null`, and for an unknown code or another form.
 *
 * @example
 * service.leads.pipe(derive({ zip_city: ({ zipcode }) => zipCity(zipcode), zip_state: ({ zipcode }) => zipState(zipcode) }));
 * // { zipcode: '10001' }  ->  { zipcode: '10001', zip_city: 'New York', zip_state: 'NY' }
 */
export function zipCity(zip: string | null | undefined): string | null {
  return placeOf(zip ?? '')?.city ?? null;
}

/**
 * Returns the two-letter code of the state or province of a US or Canadian zipcode, like `zip_state` in pipeline files.
 *
 * @param zip As in `zipCity`.
 * @returns `null` for `null`, and for an unknown code or another form.
 *
 * @example
 * zipState('K1A 0B1'); // 'ON'
 */
export function zipState(zip: string | null | undefined): string | null {
  return placeOf(zip ?? '')?.state ?? null;
}

/** Returns the sorting area of a US or Canadian zipcode: its first three characters. */
export function zipPrefix(zip: string): string | null {
  return normalizedZip(zip)?.slice(0, 3) ?? null;
}

/** Returns the first three of the ten digits of a phone number, after an optional country code 1. */
export function areaCode(phone: string): string | null {
  return /^1?([2-9]\d{2})\d{7}$/.exec(phone.replace(/[\s().+-]/g, ''))?.[1] ?? null;
}

/** Returns the place of a zipcode. Nothing is guessed, not even a lost leading zero. */
export function placeOf(zipcode: string): Place | undefined {
  // Most zipcodes have the form of the table.
  return placeOfCode(zipcode) ?? placeOfCode(normalizedZip(zipcode) ?? '');
}

/** Returns the part of a zipcode that identifies a place: five digits, or the three characters of a Canadian sorting area. */
function normalizedZip(zipcode: string): string | undefined {
  const text = zipcode.trim();
  const digits = /^(\d{5})(?:-?\d{4})?$/.exec(text);
  if (digits) return digits[1];
  return /^([A-Za-z]\d[A-Za-z])(?: ?\d[A-Za-z]\d)?$/.exec(text)?.[1]?.toUpperCase();
}
