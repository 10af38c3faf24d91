import { EMPTY } from 'rxjs';
import { expect, test } from '@jest/globals';
import { aggregate, cast, dedupe, join, mask, rename, select, sort } from '../../../src/steps/index.js';

const options = { on: { a: 'b' }, as: 'b', select: ['c'] };

/** Calls with what is undefined by mistake, which would match nothing, hide nothing, or leave a name or type as it was, in silence. */
const calls: readonly (readonly [step: (...given: never) => unknown, given: readonly unknown[], missing: string])[] = [
  [join, [EMPTY, { ...options, on: { a: 'b', c: undefined } }], 'join: options.on.c'],
  [join, [EMPTY, { ...options, pick: { max: undefined } }], 'join: options.pick.max'],
  [join, [EMPTY, { ...options, select: [undefined] }], 'join: options.select[0]'],
  [cast, [{ a: undefined }], 'cast: types.a'],
  [mask, [{ a: undefined }], 'mask: masks.a'],
  [rename, [{ a: undefined }], 'rename: names.a'],
  [aggregate, [['a'], { n: undefined }], 'aggregate: compute.n'],
  [sort, [[{ field: undefined }]], 'sort: keys[0].field'],
  [select, [[undefined]], 'select: fields[0]'],
  [dedupe, [[undefined]], 'dedupe: key[0]'],
];

test.each(calls)('%p refuses what is undefined by mistake: %j', (step, given, missing) => {
  expect(() => Reflect.apply(step, undefined, given)).toThrow(
    expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(`${missing} is missing`) }),
  );
});

test('a mask, a share of matches and a name of columns that cannot be are refused before anything is read', () => {
  for (const wrong of [
    () => mask({ zip: 'hide' as never }),
    () => join(EMPTY, { ...options, minMatch: '101%' } as never),
    () => aggregate(['a'], { a: 'count' }),
  ])
    expect(wrong).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG' }));
});
