import fc from 'fast-check';
import { outOfSequence } from '../../../src/source/seen-rows.js';

const numbers = (...list: readonly number[]): Uint32Array => Uint32Array.from(list);

describe('outOfSequence', () => {
  test.each([
    ['nothing', numbers(), 0],
    ['a sequence with gaps', numbers(1, 4, 9, 10), 0],
    ['one number that went to the end', numbers(2, 3, 4, 5, 1), 1],
    ['one number that went to the head', numbers(5, 1, 2, 3, 4), 1],
    ['two neighbours that changed places', numbers(1, 3, 2, 4), 1],
    ['the other direction', numbers(4, 3, 2, 1), 3],
  ])('counts %s', (_what, list, expected) => {
    expect(outOfSequence(list)).toBe(expected);
  });

  test('is what a search through all subsets finds', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(50), { maxLength: 9 }), (list) => {
        const subsets = list.reduce<number[][]>((all, number) => [...all, ...all.map((some) => [...some, number])], [[]]);
        const rising = subsets.filter((some) => some.every((number, index) => index === 0 || number > (some[index - 1] ?? 0)));
        return outOfSequence(Uint32Array.from(list)) === list.length - Math.max(...rising.map(({ length }) => length));
      }),
    );
  });
});
