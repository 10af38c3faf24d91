import {
  parseExact,
  stringifyExact,
  isJson,
  JsonText,
  bytesAt,
  RepeatedName,
  segmentsOf,
  valueAt,
  without,
} from '../../../src/json/index.js';
import * as fc from 'fast-check';
import { places, plain } from '../../support/json.js';

test('keeps integers of 63 bits in JSON, also nested ones', () => {
  const text =
    '{"snapshot-id":9223372036854775807,"rows":[{"id":-9007199254740993,"n":12,"f":0.5,"t":"1"}],"none":null,"yes":true,"big":1e300}';
  const value = parseExact(Buffer.from(text));
  expect(value).toEqual({
    'snapshot-id': 9223372036854775807n,
    rows: [{ id: -9007199254740993n, n: 12, f: 0.5, t: '1' }],
    none: null,
    yes: true,
    big: 1e300,
  });
  expect(stringifyExact(value)).toBe(text.replace('1e300', '1e+300'));
  expect(parseExact(Buffer.from('{"a":'))).toBeUndefined();
  expect(stringifyExact({ left: undefined, kept: [1, null] })).toBe('{"kept":[1,null]}');
});

const bytes = (text: string) => Buffer.from(text);

test('a pointer leads to what it does in RFC 6901, as the text that it is', () => {
  fc.assert(
    fc.property(places, ({ json, segments }) => {
      const wanted = plain(JSON.parse(json), segments);
      const found = valueAt(bytes(json), segments);
      expect(found instanceof JsonText ? JSON.parse(found.text) : found).toEqual(wanted);
      const place = bytesAt(bytes(json), segments);
      expect(place && JSON.parse(Buffer.from(place).toString())).toEqual(wanted);
    }),
  );
});

test('a pointer is taken apart as it is put together', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (segments) => {
      const pointer = segments.map((segment) => `/${segment.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
      expect(segmentsOf(pointer)).toEqual(segments);
    }),
  );
});

test('numbers stay as they are written, and a name in the pointer that comes twice is refused, unless the values are equal and may be', () => {
  expect(valueAt(bytes('{"a":{"b":12345678901234567890}}'), ['a', 'b'])).toEqual(new JsonText('12345678901234567890'));
  for (const json of ['{"a":1,"\\u0061":1.10}', '{"a":1,"b":2,"a": 1}', '{"a":{"b":1},"a":{}}'])
    expect(() => valueAt(bytes(json), ['a', 'b'])).toThrow(RepeatedName);
  expect(valueAt(bytes('{"a":1,"b":2,"a": 1}'), ['a'], true)).toEqual(new JsonText('1'));
  expect(() => valueAt(bytes('{"a":1,"a":2}'), ['a'], true)).toThrow(RepeatedName);
  expect(valueAt(bytes('{"b":1,"b":2,"a":3}'), ['a'])).toEqual(new JsonText('3'));
});

test.each(['{"data":[1,2],"paging":{"next":"x', '{"data":[1,2]', '', '[1,]', '\xff'])('%j is no document', (text) => {
  expect(isJson(Buffer.from(text, 'latin1'))).toBe(false);
});

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
