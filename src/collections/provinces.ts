/**
 * The two-letter code of the Canadian province or territory of a postal code, by its first letter (Canada Post).
 *
 * @returns `undefined` for what does not begin like a Canadian postal code.
 *
 * @example
 * provinceOf('K1A 0B1'); // 'ON'
 * provinceOf('X0A'); // 'NU'
 */
export function provinceOf(postalCode: string): string | undefined {
  return /^X0[ABC]/.test(postalCode) ? 'NU' : provinces.get(postalCode.charAt(0));
}

/** Nunavut shares its letter with the Northwest Territories, and has three sorting areas of it. */
const provinces: ReadonlyMap<string, string> = new Map([
  ['A', 'NL'],
  ['B', 'NS'],
  ['C', 'PE'],
  ['E', 'NB'],
  ['G', 'QC'],
  ['H', 'QC'],
  ['J', 'QC'],
  ['K', 'ON'],
  ['L', 'ON'],
  ['M', 'ON'],
  ['N', 'ON'],
  ['P', 'ON'],
  ['R', 'MB'],
  ['S', 'SK'],
  ['T', 'AB'],
  ['V', 'BC'],
  ['X', 'NT'],
  ['Y', 'YT'],
]);
