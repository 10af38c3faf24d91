/** Returns the two-letter code of the Canadian province or territory of a postal code (Canada Post); `undefined` for other texts. */
export function provinceOf(postalCode: string): string | undefined {
  return /^X0[ABC]/.test(postalCode) ? 'NU' : provinces.get(postalCode.charAt(0));
}

/** Nunavut shares its letter with the Northwest Territories, and has three sorting areas of it. */
const letters = { NL: 'A', NS: 'B', PE: 'C', NB: 'E', QC: 'GHJ', ON: 'KLMNP', MB: 'R', SK: 'S', AB: 'T', BC: 'V', NT: 'X', YT: 'Y' };
const provinces = new Map(Object.entries(letters).flatMap(([code, own]) => [...own].map((letter) => [letter, code] as const)));
