import type * as Phones from 'libphonenumber-js/min';
import { missingPackage, nodeRequire } from '../../core/index.js';

let loaded: typeof Phones | undefined;

/** Returns a number of a country, or with + of any, as E.164, or `null`. @throws {Error} For no country, and without the package. */
export function phoneNumber(text: string, country: string): string | null {
  const missing = loaded ? undefined : missingPackage('libphonenumber-js', 'it');
  if (missing !== undefined) throw new Error(missing);
  loaded ??= nodeRequire()('libphonenumber-js/min') as typeof Phones;
  if (!loaded.isSupportedCountry(country)) throw new Error(`there is no country '${country}'; write its two letters, like CA`);
  const found = loaded.parsePhoneNumberFromString(text.trim(), { defaultCountry: country, extract: false });
  // Whether a number is valid depends on lists that grow older with the package.
  return found?.isPossible() === true ? found.number : null;
}
