import type { Row } from '../../../src/core/index.js';
import { explode, type ExplodeOptions } from '../../../src/steps/index.js';
import { rowsThrough, watched } from './support.js';

const exploded = (list: Row[string], options: ExplodeOptions = {}) =>
  rowsThrough(explode<Row>('list', options), [{ id: '1', list, other: 'x' }]);
const lists = async (list: Row[string], options: ExplodeOptions = {}) => (await exploded(list, options)).map((row) => row.list);

test('makes a row of each element, in the order of the list, and repeats the other fields', async () => {
  expect(await exploded('["b","a"]')).toEqual([
    { id: '1', list: 'b', other: 'x' },
    { id: '1', list: 'a', other: 'x' },
  ]);
});

describe('a JSON array', () => {
  test('gives strings as they are, and everything else but null as its JSON text, in which no number changes', async () => {
    expect(await lists(' [" a ", "", 12345678901234567890, 1.10, true, null, [1, 2], {"a": 1e400, "b": "\\u00e9"}] ')).toEqual([
      ' a ',
      '',
      '12345678901234567890',
      '1.10',
      'true',
      null,
      '[1,2]',
      '{"a":1e400,"b":"é"}',
    ]);
  });

  test.each(['a, b', '{"a":1}', '"a"', '7', '[1', '[1] 2', '["\ud800"]'])('is not %j', async (list) => {
    const context = watched();
    expect(await rowsThrough(explode<Row>('list', {}, context), [{ list }])).toEqual([]);
    expect(context.rejects.map(({ fault }) => fault.reason)).toEqual(['is not a JSON array']);
  });
});

test.each([
  ['a,b', ['a', 'b']],
  [' a ,\tb c ', ['a', 'b c']],
  ['a,,b,', ['a', 'b']],
  ['a', ['a']],
  ['["a","b"]', ['["a"', '"b"]']],
])('with a separator %j has trimmed elements, and no blank ones: %j', async (text, elements) => {
  expect(await lists(text, { separator: ',' })).toEqual(elements);
});

describe.each([[null], [''], [' '], ['[]']])('the list %j, which has no elements', (list) => {
  test('keeps its row with null as the element', async () => {
    expect(await exploded(list)).toEqual([{ id: '1', list: null, other: 'x' }]);
  });

  test('drops its row when told, which is counted as filtered', async () => {
    const context = watched();
    expect(await rowsThrough(explode<Row>('list', { empty: 'drop' }, context), [{ list }, { list: '[1]' }])).toEqual([{ list: '1' }]);
    expect(context.tally).toMatchObject({ filtered: 1, expanded: 0, rejected: 0 });
  });
});

test('numbers the elements when told, from 1, and none of an empty list', async () => {
  expect(await rowsThrough(explode<Row>('list', { position: 'n' }), [{ list: '["a","a"]' }, { list: '[]' }])).toEqual([
    { list: 'a', n: 1n },
    { list: 'a', n: 2n },
    { list: null, n: null },
  ]);
});
