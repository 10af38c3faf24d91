import { normalizedZip, placeOf } from './places.js';

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

/**
 * Returns the first three characters of a US or Canadian zipcode, the sorting area, like `zip_prefix` in pipeline files.
 *
 * @param zip As in `zipCity`.
 * @returns `null` for `null`, and for a text of another form.
 *
 * @example
 * zipPrefix('10001-1234'); // '100'
 */
export function zipPrefix(zip: string | null | undefined): string | null {
  return normalizedZip(zip ?? '')?.slice(0, 3) ?? null;
}

/**
 * Returns the first three of the ten digits of a phone number, after an optional country code 1, like `area_code` in pipeline files.
 *
 * @returns `null` for `null`, and for a text that is not such a number.
 *
 * @example
 * areaCode('1 (212) 555-0142'); // '212'
 */
export function areaCode(phone: string | null | undefined): string | null {
  const digits = (phone ?? '').replace(/[\s().+-]/g, '');
  return /^1?([2-9]\d{2})\d{7}$/.exec(digits)?.[1] ?? null;
}
