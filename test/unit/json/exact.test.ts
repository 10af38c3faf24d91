import { expect, test } from '@jest/globals';
import { parseExact, stringifyExact } from '../../../src/json/index.js';

test('keeps integers of 63 bits in JSON, also nested ones', () => {
  const text =
    '{"snapshot-id":9223372036854775807,"rows":[{"id":-9007199254740993,"n":12,"f":0.5,"t":"1"}],"none":null,"yes":true,"big":1e300}';
  const value = parseExact(Buffer.from(text));
  expect(value).toEqual({
    'snapshot-id': 9223372036854775807n,
    rows: [{ id: -9007199254740993n, n: 12, f: 0.5, t: '1' }],
    none: null,
    yes: true,
    big: 1e300,
  });
  expect(stringifyExact(value)).toBe(text.replace('1e300', '1e+300'));
  expect(parseExact(Buffer.from('{"a":'))).toBeUndefined();
  expect(stringifyExact({ left: undefined, kept: [1, null] })).toBe('{"kept":[1,null]}');
});
