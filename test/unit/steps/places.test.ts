import { createRequire } from 'node:module';
import { z } from 'zod';
import { placeOf } from '../../../src/steps/expression/geography.js';
import { expressionFunctions, zipCity, zipState } from '../../../src/steps/index.js';

describe('the place of a zipcode', () => {
  test.each([
    ['10001-1234', 'New York', 'NY'],
    [' 10001 ', 'New York', 'NY'],
  ])('of %j is %s, %s', (zip, city, state) => {
    expect(placeOf(zip)).toEqual({ city, state });
  });

  test.each([
    ['K1A', 'ON'],
    ['k1a 0b1', 'ON'],
    ['X0A', 'NU'],
    ['X1A', 'NT'],
  ])('of %j is in the province or territory %s', (zip, state) => {
    expect(placeOf(zip)?.state).toBe(state);
  });

  test.each(['', ' ', '00000', '1234', '501', '123456', '10001-12', 'D1A', 'K1A 0B', 'K1', '１０００１', 'constructor', '__proto__'])(
    'of %j is not known',
    (zip) => {
      expect(placeOf(zip)).toBeUndefined();
    },
  );
});

test.each(Object.entries({ zip_city: zipCity, zip_state: zipState }))('%s gives a program what it gives an expression', (name, of) => {
  const texts = ['10001', ' 10001-1234 ', 'K1A 0B1', 'h2x', '99999', '501', '', 'abc'];
  const { call } = expressionFunctions[name] ?? {};
  for (const text of texts) expect(of(text)).toBe(call?.(text, () => new Date(0)));
  expect(texts.map(of).some((found) => found !== null)).toBe(true);
  expect([of(null), of(undefined)]).toEqual([null, null]);
});

test('the table has every US zipcode and Canadian sorting area of the package, with its city and its state or a two-letter province', () => {
  const entry = z.looseObject({ zip: z.string(), city: z.string(), state: z.string(), country: z.string() });
  const { codes } = z.object({ codes: z.record(z.string(), entry) }).parse(createRequire(import.meta.url)('zipcodes'));
  const entries = Object.values(codes);
  const provinces = new Set<unknown>('AB BC MB NB NL NS NT NU ON PE QC SK YT'.split(' '));
  const different = entries.filter(({ zip, city, state, country }) => {
    const found = placeOf(zip);
    return found?.city !== city || (country === 'US' ? found.state !== state : !provinces.has(found.state));
  });
  expect(entries.filter(({ country }) => country === 'US').length).toBeGreaterThan(40_000);
  expect(entries.filter(({ country }) => country !== 'US').length).toBeGreaterThan(1_000);
  expect(different).toEqual([]);
});
