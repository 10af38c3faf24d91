import { expect, test } from '@jest/globals';
import { standalone } from '../../../src/flow/index.js';
import { standaloneSink } from '../../../src/sinks/alone.js';

test.each([
  ['a sink', standaloneSink],
  ['a step', standalone],
])('what %s is given as undefined is as good as not given', (_what, contextOf: (at: string, overrides?: object) => object) => {
  const names = Object.keys(contextOf('out'));
  const given = contextOf('out', Object.fromEntries(names.map((name) => [name, undefined])));
  expect(Object.values(given).filter((value) => value === undefined)).toEqual([]);
  expect(Object.keys(given)).toEqual(names);
});
