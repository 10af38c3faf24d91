import * as fc from 'fast-check';
import type { DeclaredType, Value } from '../../../src/core/index.js';
import { RowValues } from '../../../src/parquet/row-values.js';
import { compareTexts } from '../../../src/vector/key.js';
import { Batch } from '../../../src/vector/record-batch.js';
import { FlatVector } from '../../../src/vector/index.js';
import { output } from '../../support/parquet-files.js';
import { anyText } from '../../support/texts.js';

function sorted(type: DeclaredType, values: readonly Value[], descending = false): readonly Value[] | undefined {
  const bounds = { rows: values.length, text: Infinity, sortedBy: [{ column: 'a', descending }] };
  const group = new RowValues([output('a', type)], bounds, (rows) => rows);
  group.add(new Batch(values.length, [new FlatVector(values)]), 0, values.length);
  return group.take().columns[0];
}

test('sorts texts like their UTF-8 bytes', () => {
  const ascending = ['', 'a', 'ab', 'b', 'é', '\ud7ff', '\uff21', '😀', null];
  expect(sorted('text', ['😀', 'b', '\uff21', '', 'é', 'ab', null, '\ud7ff', 'a'])).toEqual(ascending);
  fc.assert(
    fc.property(anyText(), anyText(), (one, other) => {
      expect(Math.sign(compareTexts(one, other))).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)));
    }),
  );
});

test.each<[DeclaredType, readonly Value[]]>([
  ['integer', [-(2n ** 63n), -1n, 9n, 10n, 2n ** 53n + 1n]],
  ['decimal', [-1e300, -0.5, 0, 2, 10]],
  ['flag', [false, false, true]],
  ['timestamp', [new Date(-1), new Date(0), new Date(5)]],
])('sorts a column of type %s by value, nulls last both ways', (type, ascending) => {
  expect(sorted(type, [null, ...ascending.toReversed()])).toEqual([...ascending, null]);
  expect(sorted(type, [null, ...ascending], true)).toEqual([...ascending.toReversed(), null]);
});

test('takes two times of one day for the same date, and keeps the order of equal rows', () => {
  const columns = [output('day', 'date'), output('n', 'integer'), output('seen', 'integer')];
  const sortedBy = [
    { column: 'day', descending: false },
    { column: 'n', descending: true },
  ];
  const group = new RowValues(columns, { rows: 4, text: Infinity, sortedBy }, (rows) => rows);
  const days = ['1969-12-31T23:00Z', '1969-12-31T01:00Z', '1969-12-30T12:00Z', '1969-12-31T02:00Z'].map((text) => new Date(text));
  const values = [days, [7n, 5n, 1n, 7n], [0n, 1n, 2n, 3n]];
  const vectors = values.map((some) => new FlatVector(some));
  group.add(new Batch(4, vectors), 0, 4);
  expect(group.take().columns[2]).toEqual([2n, 0n, 3n, 1n]);
});
