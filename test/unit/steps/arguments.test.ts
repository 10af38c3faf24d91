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
  [filter, [], 'filter: condition is missing: it must be a function'],
  [derive, [{ a: 'b + 1' }], "derive: derivations.a must be a function, or one with its type as { type, of }, not the text 'b + 1'"],
  [derive, [{ a: { type: 'number', of: () => 1 } }], 'derive: derivations.a: type must be one of text, flag, integer'],
  [derive, [{ a: { type: 'integer' } }], 'derive: derivations.a: of is missing: it must be a function'],
  [select, ['a'], "select: fields must be a list that is not empty, not the text 'a'"],
  [select, [[]], 'select: fields must be a list that is not empty, not a list'],
  [dedupe, ['a'], "dedupe: key must be a list that is not empty, not the text 'a'"],
  [dedupe, [['a'], { normalize: 'lower' }], "dedupe: options.normalize must be casefold, not the text 'lower'"],
  [sample, [{ percent: 0, by: ['a'] }], 'sample: options.percent must be a number above 0, not 0'],
  [sample, [{ percent: 101, by: ['a'] }], 'sample: options.percent must be a number above 0'],
  [sample, [{ percent: '1%', by: ['a'] }], "sample: options.percent must be a number above 0, not the text '1%'"],
  [sample, [{ percent: 1 }], 'sample: options.by is missing'],
  [sample, [{ percent: 1, by: ['a'], seed: -1 }], 'sample: options.seed must be a whole number from 0 to 4294967295, not -1'],
  [sample, [1], 'sample: options must be an object with percent, by, seed, not 1'],
  [explode, [['a']], 'explode: field must be a text that is not empty, not a list'],
  [explode, ['a', { separator: '' }], 'explode: options.separator must be a text that is not empty'],
  [explode, ['a', { empty: 'null' }], "explode: options.empty must be one of keep, drop, not the text 'null'"],
  [
    cast,
    [{ age: 'int' }],
    "cast: types.age must be one of text, flag, integer, decimal, timestamp, date, not the text 'int'; did you mean 'integer'?",
  ],
  [cast, [['age']], 'cast: types must be an object'],
  [cast, [], 'cast: types is missing'],
  [cast, [{ age: 'integer' }, { onError: 'skip' }], "cast: options.onError must be one of reject, null, fail, not the text 'skip'"],
  [cast, [{ age: 'integer' }, { on_error: 'null' }], "cast: unknown option of options 'on_error', did you mean 'onError'?"],
  [mask, [{ zip: 'hide' }], "mask: masks.zip must be one of drop, null, hmac, last4, redact, not the text 'hide'"],
  [rename, [(name: string) => name], 'rename: names must be an object'],
  [rename, [{ a: 7 }], 'rename: names.a must be a text that is not empty, not 7'],
  [join, ['bridges', options], "join: right must be a stream of rows, like service.bridges, not the text 'bridges'"],
  [join, [EMPTY, { ...options, type: 'outer' }], "join: options.type must be one of left, inner, not the text 'outer'"],
  [join, [EMPTY, { ...options, pick: 'last' }], 'join: options.pick must be'],
  [join, [EMPTY, { ...options, normalize: 'lower' }], "join: options.normalize must be casefold, not the text 'lower'"],
  [join, [EMPTY, { ...options, as: undefined }], 'join: options.as is missing'],
  [join, [EMPTY, { ...options, select: undefined }], 'join: options.select is missing'],
  [join, [EMPTY], 'join: options is missing'],
  [limit, [0], 'limit: rows must be a whole number from 1 on, not 0'],
  [limit, [1.5], 'limit: rows must be a whole number from 1 on, not 1.5'],
  [limit, ['100'], "limit: rows must be a whole number from 1 on, not the text '100'"],
  [limit, [], 'limit: rows is missing'],
  [sort, [[]], 'sort: keys must be a list that is not empty, not a list'],
  [sort, [[{ field: 'a', type: 'number' }]], 'sort: keys[0].type must be one of text, flag'],
  [sort, [['a']], 'sort: keys[0] must be an object with field, type, descending'],
  [sort, [[{ field: 'a' }], { memory: '256MB' }], "sort: options.memory must be a number above 0, not the text '256MB'"],
  [aggregate, ['a', {}], "aggregate: by must be a list, not the text 'a'"],
  [aggregate, [['a'], { n: 'sum' }], 'aggregate: compute.n must be'],
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
