import { describe, expect, test } from '@jest/globals';
import type { DeclaredType } from '../../../src/core/index.js';
import { standaloneSink } from '../../../src/sinks/alone.js';
import { project, type ProjectionOptions } from '../../../src/sinks/projection.js';
import { batchFromRows } from '../../../src/vector/index.js';
import { firstPage } from '../../support/batches.js';
import { column, recording } from '../../support/sinks.js';

/** Values that the type of a row refuses and a program can give all the same. */
const strange: readonly (readonly [string, unknown])[] = [
  ['an object', { a: 1 }],
  ['a list', ['a']],
  ['a promise', Promise.resolve('a')],
  ['an invalid date', new Date(Number.NaN)],
  ['a non-finite number', Number.NaN],
];
function reasonsFor(type: DeclaredType, options: Partial<ProjectionOptions>, value: unknown): readonly unknown[] {
  const context = recording('.');
  const projection = project([column('a', type)], { types: 'typed', naming: 'original', ...options }, standaloneSink('test', context));
  const kept = projection.take(firstPage(batchFromRows([{ a: 'x' }, Object.assign(Object.create({}), { a: value })])));
  return [kept.columns.map((vector) => vector.toArray()), context.rejects.map(([, { field, reason }]) => ({ field, reason }))];
}

describe.each(['typed', 'text'] as const)('a column of text, types: %s', (types) => {
  test.each(strange)('refuses %s: %#', (what, value) => {
    expect(reasonsFor('text', { types }, value)).toEqual([[['x']], [{ field: 'a', reason: `is ${what}, not a text` }]]);
  });

  test('takes numbers, flags and instants as texts', () => {
    const values = [1.5, 7n, true, new Date(0), null];
    expect(values.map((value) => reasonsFor('text', { types }, value))).toEqual(
      ['1.5', '7', 'true', '1970-01-01T00:00:00.000Z', null].map((text) => [[['x', text]], []]),
    );
  });
});

test('a column of whole numbers refuses an object', () => {
  expect(reasonsFor('integer', {}, {})[1]).toContainEqual({ field: 'a', reason: 'is an object, not a 64-bit integer' });
});
