import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KeyMap } from '../../../src/flow/index.js';
import { anyText } from '../../support/texts.js';

/** Beyond what a segment holds. */
const many = 100_000;

describe('KeyMap', () => {
  test('has the last number that each text was given, like a Map', () => {
    const entries = fc.array(fc.tuple(fc.oneof(fc.string({ maxLength: 3 }), anyText()), fc.nat(0xffffffff)));
    fc.assert(
      fc.property(entries, fc.string({ maxLength: 3 }), (list, other) => {
        const [map, plain] = [new KeyMap(), new Map<string, number>()];
        for (const [text, value] of list) {
          map.open(text);
          map.put(value);
          plain.set(text, value);
        }
        expect(map.size).toBe(plain.size);
        for (const text of [...plain.keys(), other]) expect(map.get(text)).toBe(plain.get(text) ?? -1);
      }),
    );
  });

  test('finds each of many texts and no other, in at most 32 bytes each', () => {
    const map = new KeyMap();
    for (let n = 0; n < many; n += 1) if (map.open(`bridge-${n}`) < 0) map.put(n);
    let wrong = 0;
    for (let n = 0; n < many; n += 1) if (map.get(`bridge-${n}`) !== n || map.get(`bridge-${n}x`) !== -1) wrong += 1;
    expect({ wrong, size: map.size }).toEqual({ wrong: 0, size: many });
    expect(map.bytes / map.size).toBeLessThanOrEqual(32);
  });
});
