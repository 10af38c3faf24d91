import { expect } from '@jest/globals';

const { testPath } = expect.getState();
if (testPath === undefined) throw new Error('no test runs');

/** Whether this is soak, which runs some suites again, with everything that they could vary. */
export const inSoak = testPath.includes('/test/soak/');

/** The sample that unit and system need, or everything, in soak. */
export function rung<T>(sample: T, everything: T): T {
  return inSoak ? everything : sample;
}

/** Every second of some cases that go the same way through the code, and in soak the others. */
export function everySecond<const T>(cases: readonly T[]): readonly T[] {
  const wanted = inSoak && cases.length > 1 ? 1 : 0;
  return cases.filter((_, index) => index % 2 === wanted);
}
