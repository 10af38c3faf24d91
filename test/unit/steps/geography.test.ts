import { expect, test } from '@jest/globals';
import { expressionFunctions, zipCity, zipState } from '../../../src/steps/index.js';

const functions = { zip_city: zipCity, zip_state: zipState };
const texts = ['10001', ' 10001-1234 ', 'K1A 0B1', 'h2x', '99999', '501', '', 'abc'];

test.each(Object.entries(functions))('%s gives a program what it gives an expression', (name, of) => {
  const { call } = expressionFunctions[name] ?? {};
  for (const text of texts) expect(of(text)).toBe(call?.(text, () => new Date(0)));
  expect(texts.map(of).some((found) => found !== null)).toBe(true);
  expect([of(null), of(undefined)]).toEqual([null, null]);
});
