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
const letters = { NL: 'A', NS: 'B', PE: 'C', NB: 'E', QC: 'GHJ', ON: 'KLMNP', MB: 'R', SK: 'S', AB: 'T', BC: 'V', NT: 'X', YT: 'Y' };
const provinces = new Map(Object.entries(letters).flatMap(([code, own]) => [...own].map((letter) => [letter, code] as const)));
