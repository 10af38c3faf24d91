import { expect } from '@jest/globals';

const { testPath } = expect.getState();
if (testPath === undefined) throw new Error('no test runs');

/** Whether this is soak, which runs some suites again, with everything that they could vary. */
export const inSoak = testPath.includes('/test/soak/');

/** The sample that unit and system need, or everything, in soak. */
export function rung<T>(sample: T, everything: T): T {
  return inSoak ? everything : sample;
}

/** Every second of some cases that go the same way through the code, or all, in soak. */
export function everySecond<const T>(cases: readonly T[]): readonly T[] {
  return inSoak ? cases : cases.filter((_, index) => index % 2 === 0);
}
