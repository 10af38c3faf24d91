import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { normalizedZip, placeOf } from '../../../src/steps/expression/places.js';

describe('the place of a zipcode', () => {
  test.each([
    ['10001', 'New York', 'NY'],
    ['10001-1234', 'New York', 'NY'],
    ['100011234', 'New York', 'NY'],
    [' 10001 ', 'New York', 'NY'],
    ['02108', 'Boston', 'MA'],
    ['00501', 'Holtsville', 'NY'],
    ['00901', 'San Juan', 'PR'],
    ['90210', 'Beverly Hills', 'CA'],
  ])('of %j is %s, %s', (zip, city, state) => {
    expect(placeOf(zip)).toEqual({ city, state });
  });

  test.each([
    ['K1A', 'ON'],
    ['k1a', 'ON'],
    ['K1A 0B1', 'ON'],
    ['K1A0B1', 'ON'],
    ['A1A', 'NL'],
    ['B3H', 'NS'],
    ['C1A', 'PE'],
    ['E1A', 'NB'],
    ['G1A', 'QC'],
    ['H2X', 'QC'],
    ['J4B', 'QC'],
    ['M5V', 'ON'],
    ['R2C', 'MB'],
    ['S4P', 'SK'],
    ['T2P', 'AB'],
    ['V5K', 'BC'],
    ['X0A', 'NU'],
    ['X0C', 'NU'],
    ['X1A', 'NT'],
    ['Y1A', 'YT'],
  ])('of %j is in the province or territory %s', (zip, state) => {
    expect(placeOf(zip)?.state).toBe(state);
  });

  test.each([
    '',
    ' ',
    '00000',
    '99999',
    '1234',
    '501',
    '123456',
    '10001-12',
    '10001-',
    'D1A',
    'Z9Z',
    'K1A 0B',
    'K1',
    'abcde',
    '１０００１',
  ])('of %j is not known', (zip) => {
    expect(placeOf(zip)).toBeUndefined();
  });

  test.each(['constructor', '__proto__'])('of %j is not what objects inherit', (zip) => {
    expect(placeOf(zip)).toBeUndefined();
  });
});

test.each([
  ['10001-1234', '10001'],
  ['k1a 0b1', 'K1A'],
  ['nowhere', undefined],
])('%j names its place by %j', (zip, code) => {
  expect(normalizedZip(zip)).toBe(code);
});

describe('the table', () => {
  const entry = z.looseObject({ zip: z.string(), city: z.string(), state: z.string(), country: z.string() });
  const { codes } = z.object({ codes: z.record(z.string(), entry) }).parse(createRequire(import.meta.url)('zipcodes'));
  const entries = Object.values(codes);

  test('has every US zipcode of the package, with its city and state', () => {
    const us = entries.filter(({ country }) => country === 'US');
    const different = us.filter(({ zip, city, state }) => placeOf(zip)?.city !== city || placeOf(zip)?.state !== state);
    expect(us.length).toBeGreaterThan(40_000);
    expect(different).toEqual([]);
  });

  test('has every Canadian sorting area of the package, with its city and a two-letter province', () => {
    const canada = entries.filter(({ country }) => country !== 'US');
    const provinces = new Set('AB BC MB NB NL NS NT NU ON PE QC SK YT'.split(' '));
    const different = canada.filter(({ zip, city }) => placeOf(zip)?.city !== city || !provinces.has(placeOf(zip)?.state ?? ''));
    expect(canada.length).toBeGreaterThan(1_000);
    expect(different).toEqual([]);
  });
});
