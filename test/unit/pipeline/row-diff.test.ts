import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { diffRows } from '../../../src/pipeline-tests/row-diff.js';

const rowsOf = (ids: readonly string[]) => ids.map((id) => ({ id }));
const ids = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });

/** How many rows two lists share in their order, by the definition. */
function longestCommon(one: readonly string[], other: readonly string[]): number {
  const [first, ...rest] = one;
  if (first === undefined) return 0;
  const at = other.indexOf(first);
  const without = longestCommon(rest, other);
  return at < 0 ? without : Math.max(without, 1 + longestCommon(rest, other.slice(at + 1)));
}

describe('diffRows', () => {
  test('takes as many rows for the same as can be, and accounts for all others on both sides', () => {
    fc.assert(
      fc.property(ids, ids, (expected, received) => {
        const found = diffRows(rowsOf(expected), rowsOf(received));
        const of = (...kinds: readonly string[]) => found.filter(({ kind }) => kinds.includes(kind)).length;
        const same = longestCommon(expected, received);
        expect(of('missing', 'differs')).toBe(expected.length - same);
        expect(of('unexpected', 'differs')).toBe(received.length - same);
      }),
    );
  });

  test('tells by column what differs, and compares no column that is not expected', () => {
    expect(
      diffRows(
        [{ id: '1', n: 'a' }, { id: '2' }],
        [
          { id: '1', n: 'b', more: 'x' },
          { id: '2', more: 'y' },
        ],
      ),
    ).toEqual([{ kind: 'differs', row: 1, columns: { n: { expected: 'a', received: 'b' } } }]);
  });

  test('tells null from an empty text, and from the word', () => {
    expect(diffRows([{ n: '' }], [{ n: null }])).toEqual([{ kind: 'differs', row: 1, columns: { n: { expected: '', received: null } } }]);
    expect(diffRows([{ n: null }], [{ n: null }])).toEqual([]);
    expect(diffRows([{ n: 'null' }], [{ n: null }])).toHaveLength(1);
    expect(diffRows([{ n: null }], [{ n: 'null' }])).toHaveLength(1);
  });

  test('compares long lists place by place', () => {
    const many = rowsOf(Array.from({ length: 1_500 }, (_, index) => String(index)));
    expect(diffRows(many, many)).toEqual([]);
    expect(diffRows(many, many.with(700, { id: 'x' }))).toEqual([
      { kind: 'differs', row: 701, columns: { id: { expected: '700', received: 'x' } } },
    ]);
  });
});
