import { expect, test } from '@jest/globals';
import { areaCode, expressionFunctions, zipCity, zipPrefix, zipState } from '../../../src/steps/index.js';

const functions = { zip_city: zipCity, zip_state: zipState, zip_prefix: zipPrefix, area_code: areaCode };
const texts = ['10001', ' 10001-1234 ', 'K1A 0B1', 'h2x', '99999', '501', '', '1 (212) 555-0142', '+1.212.555.0142', '112 555 0142', 'abc'];

test.each(Object.entries(functions))('%s gives a program what it gives an expression', (name, of) => {
  const { call } = expressionFunctions[name] ?? {};
  for (const text of texts) expect(of(text)).toBe(call?.(text, () => new Date(0)));
  expect(texts.map(of).some((found) => found !== null)).toBe(true);
  expect([of(null), of(undefined)]).toEqual([null, null]);
});
