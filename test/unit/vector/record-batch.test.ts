import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Value } from '../../../src/core/index.js';
import { batchFromRows } from '../../../src/vector/index.js';

const value = fc.constantFrom<Value>('', 'x', null, 1n, true);
const row = fc.dictionary(fc.constantFrom('a', 'b', '7', 'constructor', '__proto__', 'toString'), value);

test('rows as a batch are what they were, with null for what one of them does not have', () => {
  fc.assert(
    fc.property(fc.array(row), (some) => {
      const names = [...new Set(some.flatMap((each) => Object.keys(each)))];
      const batch = batchFromRows(some);
      expect([...batch.columns.keys()]).toEqual(names);
      const expected = some.map((each) => names.map((name) => (Object.hasOwn(each, name) ? (each[name] ?? null) : null)));
      expect(some.map((_, index) => names.map((name) => batch.column(name).value(index)))).toEqual(expected);
      expect(batch.rows().map((each) => Object.entries(each).length)).toEqual(some.map(() => names.length));
    }),
  );
});
