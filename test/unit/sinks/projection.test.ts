import fc from 'fast-check';
import { declaredTypes, type DeclaredType, type Value } from '../../../src/core/index.js';
import { batchFromRows, type RecordBatch } from '../../../src/vector/index.js';
import { standaloneSink } from '../../../src/sinks/alone.js';
import { castTyped, project, type ProjectionOptions } from '../../../src/sinks/projection.js';
import { dictionaryBatches, batchOfTexts, firstPage } from '../../support/batches.js';
import { column, recording } from '../../support/sinks.js';

const typed: ProjectionOptions = { types: 'typed', naming: 'snake_case' };
const digits = fc.constantFrom('0', '1', '5', '9');

/** Texts that cast or nearly do. */
const numberish = fc.oneof(
  fc.string({ unit: digits, maxLength: 21 }),
  fc.string({ unit: fc.oneof(digits, fc.constantFrom('+', '-', '.', 'e', 'E', ' ', '/', ':', '٣')), maxLength: 8 }),
  fc.constantFrom('', '8640000000000', '8640000000001', '9223372036854775807', '-9223372036854775808', '999999999999', '-0', '00'),
  fc.constantFrom('Yes', 'no', 'TRUE', 'n', 'İ', '20240229', '20230229', '00010101', '2024-01-01'),
  fc.string({ unit: 'grapheme' }),
);

/** What a projection makes of pages, and all that it tells. */
function taken(type: DeclaredType, options: ProjectionOptions, ...pages: readonly RecordBatch[]): unknown {
  const { rejects, nulls, ...context } = recording('.');
  const projection = project([column('a', type)], options, standaloneSink('test', context));
  try {
    const batches = pages.map((content) => projection.take(firstPage(content)));
    return { values: batches.map(({ columns }) => columns.map((vector) => vector.toArray())), rejects, nulls };
  } catch (failure) {
    return { failure, rejects, nulls };
  }
}

describe('a table', () => {
  test.each(declaredTypes)('casts to %s like a text alone', (type) => {
    const cast = castTyped(type);
    fc.assert(
      fc.property(fc.array(fc.array(numberish, { maxLength: 6 }), { maxLength: 3 }), (pages) => {
        const context = recording('.');
        const projection = project([column('a', type)], { ...typed, on_error: 'null' }, standaloneSink('test', context));
        const values = pages.map((texts) =>
          projection.take(firstPage(batchOfTexts(texts.map((a) => ({ a }))))).columns.map((vector) => vector.toArray()),
        );
        expect(values).toEqual(pages.map((texts) => [texts.map((a) => cast(a) ?? null)]));
        expect(context.nulls).toHaveLength(pages.flat().filter((a) => cast(a) === undefined).length);
      }),
    );
  });

  test('gives what its rows give, whatever is refused and required', () => {
    const values = fc.array(fc.array(fc.oneof(numberish, fc.constantFrom<Value>(null, 'a\0b', '\ud800', 7n, true)), { maxLength: 5 }));
    const options = fc.record({
      types: fc.constantFrom('typed', 'text'),
      naming: fc.constant('original'),
      on_error: fc.constantFrom('reject', 'null', 'fail'),
      required: fc.constantFrom([], ['a']),
      nul: fc.constantFrom(undefined, 'has a NUL'),
      refuses: fc.constantFrom(undefined, () => undefined, refusesFives),
    } as const);
    fc.assert(
      fc.property(fc.constantFrom(...declaredTypes), options, values, (type, options, pages) => {
        const rows = pages.map((values) => values.map((a) => ({ a })));
        const expected = taken(type, options, ...rows.map(batchFromRows));
        for (const table of [batchOfTexts, dictionaryBatches(true), dictionaryBatches(false)])
          expect(taken(type, options, ...rows.map((page) => table(page)))).toEqual(expected);
      }),
    );
  });

  test('reports a rejected row whole, with columns that are not written', () => {
    const context = recording('.');
    const table = batchOfTexts([{ other: 'o', a: 'x' }]);
    project([column('a', 'flag')], typed, standaloneSink('test', context)).take(firstPage(table));
    expect(context.rejects.map(([row]) => row)).toEqual([{ other: 'o', a: 'x' }]);
  });
});

function refusesFives() {
  return (value: Value) => (String(value).includes('5') ? 'has a 5' : undefined);
}

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
