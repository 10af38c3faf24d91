import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { isJson, JsonText, bytesAt, RepeatedName, segmentsOf, valueAt } from '../../../src/json/index.js';
import { places, plain } from '../../support/json.js';

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
