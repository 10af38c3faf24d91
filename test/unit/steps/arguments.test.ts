import { EMPTY } from 'rxjs';
import { expect, test } from '@jest/globals';
import { cast, join, mask, rename } from '../../../src/steps/index.js';

const options = { on: { a: 'b' }, as: 'b', select: ['c'] };

/** Calls with what is undefined by mistake, which would match nothing, hide nothing, or leave a name or type as it was, in silence. */
const calls: readonly (readonly [step: (...given: never) => unknown, given: readonly unknown[], message: string])[] = [
  [join, [EMPTY, { ...options, on: { a: 'b', c: undefined } }], "join: 'c' is missing"],
  [join, [EMPTY, { ...options, pick: { max: undefined } }], "join: 'max' is missing"],
  [join, [EMPTY, { ...options, select: [undefined] }], 'join: select[0]: Invalid input'],
  [cast, [{ a: undefined }], "cast: 'a' is missing"],
  [mask, [{ a: undefined }], "mask: 'a' is missing"],
  [rename, [{ a: undefined }], "rename: 'a' is missing"],
];

test.each(calls)('%p refuses what is undefined by mistake: %j', (step, given, message) => {
  expect(() => Reflect.apply(step, undefined, given)).toThrow(
    expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(message) }),
  );
});
