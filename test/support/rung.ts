import { expect } from '@jest/globals';

const { testPath } = expect.getState();
if (testPath === undefined) throw new Error('no test runs');

/** Whether this is a soak test, which runs some suites again with all their variations. */
export const inSoak = testPath.includes('/test/soak/');

/** Returns everything in soak tests, otherwise the sample that unit and system tests need. */
export function rung<T>(sample: T, everything: T): T {
  return inSoak ? everything : sample;
}

/** Returns every second of several equivalent cases; soak tests get the others. */
export function everySecond<const T>(cases: readonly T[]): readonly T[] {
  const wanted = inSoak && cases.length > 1 ? 1 : 0;
  return cases.filter((_, index) => index % 2 === wanted);
}
