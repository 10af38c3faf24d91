import fc from 'fast-check';
import { outOfSequence } from '../../../src/source/seen-rows.js';

test('outOfSequence is what a search through all subsets finds', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(50), { maxLength: 9 }), (list) => {
      const subsets = list.reduce<number[][]>((all, number) => [...all, ...all.map((some) => [...some, number])], [[]]);
      const rising = subsets.filter((some) => some.every((number, index) => index === 0 || number > (some[index - 1] ?? 0)));
      return outOfSequence(Uint32Array.from(list)) === list.length - Math.max(...rising.map(({ length }) => length));
    }),
  );
});
