import { EMPTY } from 'rxjs';
import { expect, test } from '@jest/globals';
import {
  aggregate,
  cast,
  dedupe,
  derive,
  explode,
  filter,
  join,
  limit,
  mask,
  rename,
  sample,
  select,
  sort,
} from '../../../src/steps/index.js';

const options = { on: { a: 'b' }, as: 'b', select: ['c'] };

/** Calls as a program without types makes them, and what they are told. */
const calls: readonly (readonly [step: (...given: never) => unknown, given: readonly unknown[], message: string])[] = [
  [filter, ['age > 1'], "filter: condition must be a function, not the text 'age > 1'"],
  [derive, [{ a: 'b + 1' }], "derive: derivations.a must be a function, or one with its type as { type, of }, not the text 'b + 1'"],
  [derive, [{ a: { type: 'number', of: () => 1 } }], 'derive: derivations.a: type must be one of text, flag, integer'],
  [select, [[]], 'select: fields must be a list that is not empty, not an empty list'],
  [dedupe, [['a'], { normalize: 'lower' }], "dedupe: options.normalize must be casefold, not the text 'lower'"],
  [sample, [{ percent: 0, by: ['a'] }], 'sample: options.percent must be a number above 0, not 0'],
  [sample, [{ percent: 1, by: ['a'], seed: -1 }], 'sample: options.seed must be a whole number from 0 to 4294967295, not -1'],
  [explode, ['a', { separator: '' }], 'explode: options.separator must be a text that is not empty'],
  [
    cast,
    [{ age: 'int' }],
    "cast: types.age must be one of text, flag, integer, decimal, timestamp, date, not the text 'int'; did you mean 'integer'?",
  ],
  [cast, [{ age: 'integer' }, { on_error: 'null' }], "cast: unknown option of options 'on_error', did you mean 'onError'?"],
  [mask, [{ zip: 'hide' }], "mask: masks.zip must be one of drop, null, hmac, last4, redact, not the text 'hide'"],
  [join, ['bridges', options], "join: right must be a stream of rows, like service.bridges, not the text 'bridges'"],
  [join, [EMPTY, { ...options, type: 'outer' }], "join: options.type must be one of left, inner, not the text 'outer'"],
  [join, [EMPTY, { ...options, pick: 'last' }], 'join: options.pick must be'],
  [join, [EMPTY, { ...options, minMatch: '101%' }], 'join: options.minMatch: a share is written like 95%'],
  // What is undefined by mistake would match nothing, hide nothing, and leave the name or type as it was, in silence.
  [join, [EMPTY, { ...options, on: { a: undefined } }], 'join: options.on.a is missing: it must be a text'],
  [join, [EMPTY, { ...options, on: { a: 'b', c: undefined } }], 'join: options.on.c is missing: it must be a text'],
  [join, [EMPTY, { ...options, pick: { max: undefined } }], 'join: options.pick.max is missing'],
  [join, [EMPTY, { ...options, select: [undefined] }], 'join: options.select[0] is missing'],
  [cast, [{ a: undefined }], 'cast: types.a is missing: it must be one of text, flag'],
  [mask, [{ a: undefined }], 'mask: masks.a is missing: it must be one of drop'],
  [rename, [{ a: undefined }], 'rename: names.a is missing: it must be a text'],
  [derive, [{ a: undefined }], 'derive: derivations.a is missing: it must be a function'],
  [aggregate, [['a'], { n: undefined }], 'aggregate: compute.n is missing'],
  [sort, [[{ field: undefined }]], 'sort: keys[0].field is missing'],
  [select, [[undefined]], 'select: fields[0] is missing'],
  [dedupe, [[undefined]], 'dedupe: key[0] is missing'],
  [limit, [0], 'limit: rows must be a whole number of at least 1, not 0'],
  [sort, [[]], 'sort: keys must be a list that is not empty, not an empty list'],
  [sort, [[{ field: 'a', type: 'number' }]], 'sort: keys[0].type must be one of text, flag'],
  [sort, [[{ field: 'a' }], { memory: '256MB' }], "sort: options.memory must be a number of at least 32000000, not the text '256MB'"],
  [aggregate, [['a'], { n: { sum: 'b' } }], 'aggregate: compute.n'],
  [aggregate, [['a'], { n: { sum: 'b', type: 'text' } }], 'aggregate: compute.n'],
  [aggregate, [['a'], { a: 'count' }], 'aggregate: two columns of a group would be named a'],
  [aggregate, [['a', { field: 'a' }], {}], 'aggregate: two columns of a group would be named a'],
  [aggregate, [[], {}], 'aggregate: name a field or a result'],
];

test.each(calls)('%p refuses arguments that cannot be right, at once: %j', (step, given, message) => {
  expect(() => Reflect.apply(step, undefined, given)).toThrow(
    expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(message) }),
  );
});
