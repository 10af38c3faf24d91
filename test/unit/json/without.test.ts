import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { RepeatedName, without } from '../../../src/json/index.js';
import { places } from '../../support/json.js';

/** The same over what `JSON.parse` made. */
function removed(value: unknown, [name, ...inner]: readonly string[]): unknown {
  if (name === undefined) return undefined;
  if (typeof value !== 'object' || value === null) return value;
  const isThere = Array.isArray(value) ? /^(?:0|[1-9]\d*)$/.test(name) && Number(name) < value.length : Object.hasOwn(value, name);
  if (!isThere) return value;
  const left = removed(Reflect.get(value, name), inner);
  if (Array.isArray(value)) return value.map((item: unknown, index) => (index === Number(name) ? (left ?? null) : item));
  const members = Object.entries(value).flatMap(([member, one]) =>
    member === name ? (left === undefined ? [] : [[member, left]]) : [[member, one]],
  );
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

test('what a pointer leads to is gone, and nothing else', () => {
  fc.assert(
    fc.property(places, ({ json, segments }) => {
      const left = without(json, segments);
      expect(left && JSON.parse(left)).toEqual(removed(JSON.parse(json), segments));
    }),
  );
});

test.each<[string, string[], string | undefined]>([
  ['{"a":1.10,"b":{"c":"x","d":1e400}}', ['b', 'c'], '{"a":1.10,"b":{"d":1e400}}'],
  ['{"a":{"b":{"c":1}},"d":null}', ['a', 'b', 'c'], '{"d":null}'],
  ['{"a":{"b":1}}', ['a', 'b'], undefined],
  ['{"a":"same","b":1,"a":"\\u0073ame"}', ['a'], '{"b":1}'],
  ['{"a":[{"b":"x","c":1}, 2]}', ['a', '0', 'b'], '{"a":[{"c":1}, 2]}'],
  ['[1, "é", 3]', ['1'], '[1, null, 3]'],
  ['{}', ['a'], '{}'],
])('%s without /%j', (json, segments, left) => {
  expect(without(json, segments)).toBe(left);
});

test.each(['{"a":1,"b":1,"a":2}', '{"a":1,"b":1,"b":2}'])('%s without /a is refused: a value would be lost', (json) => {
  expect(() => without(json, ['a'])).toThrow(RepeatedName);
});
