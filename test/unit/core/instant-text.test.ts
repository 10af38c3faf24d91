import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { instantTexts, textOf } from '../../../src/core/index.js';

const instant = fc.oneof(
  fc.date({ noInvalidDate: true }),
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(10 * 86_400_000) }),
  fc
    .constantFrom(-8_640_000_000_000_000, -62_198_755_200_001, -1, 0, 951_782_400_000, 253_402_300_800_000, 8_640_000_000_000_000)
    .map((ms) => new Date(ms)),
);

test('instants and days have the texts that they have alone', () => {
  const text = instantTexts();
  fc.assert(
    fc.property(instant, fc.constantFrom('timestamp', 'date'), (date, type) => {
      expect(text(date, type)).toBe(textOf(date, type));
    }),
    { numRuns: 300 },
  );
});

test('instants of more days than are remembered have theirs', () => {
  const text = instantTexts();
  for (let day = 0; day < 9000; day += 1) {
    const date = new Date(day * 86_400_000 + day);
    expect([text(date, 'date'), text(date, 'timestamp')]).toEqual([textOf(date, 'date'), textOf(date, 'timestamp')]);
  }
});
