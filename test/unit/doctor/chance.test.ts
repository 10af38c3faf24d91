import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chanceOf } from '../../../src/doctor/chance.js';

/** The same by counting: how many of all ways to choose who fails let the first sample have that many or more. */
function counted(first: { requests: number; failed: number }, second: { requests: number; failed: number }): number {
  const [all, failed] = [first.requests + second.requests, first.failed + second.failed];
  let [ways, extreme] = [0, 0];
  for (let who = 0; who < 2 ** all; who += 1) {
    const bits = (mask: number) => [...(who & mask).toString(2)].filter((bit) => bit === '1').length;
    if (bits(2 ** all - 1) !== failed) continue;
    ways += 1;
    if (bits(2 ** first.requests - 1) >= first.failed) extreme += 1;
  }
  return extreme / ways;
}

test('is the share of all ways to fail in which the first sample fares as badly', () => {
  const sample = fc.nat(6).chain((requests) => fc.record({ requests: fc.constant(requests), failed: fc.nat(requests) }));
  fc.assert(
    fc.property(sample, sample, (first, second) => {
      expect(chanceOf(first, second)).toBeCloseTo(counted(first, second), 9);
    }),
  );
});
