import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Snapshot } from '../../../src/cli/status/activity.js';
import { lengthOf, sizeOf, statusLine } from '../../../src/cli/status/line.js';
import { RecentRate } from '../../../src/cli/status/recent-rate.js';

const opening: Snapshot = { doing: 'opening', list: undefined, bytes: 0, retries: 0, wait: undefined };
const list = { collection: 'leads', pages: 240, rows: 120_000, expected: 300_000, rowsPerSecond: 2_400, secondsLeft: 75 };
const reading: Snapshot = {
  doing: 'reading leads',
  list,
  bytes: 34_100_000,
  retries: 12,
  wait: undefined,
};

describe('the line of the status', () => {
  test.each([
    ['says what is done before the first row', opening, 'nightly: opening'],
    [
      'says rows, share, bytes, retries, pace and the time that is left',
      reading,
      'nightly: reading leads, 120,000 rows (40%), 34.1 MB, 12 retries, 2,400 rows/s, 1:15 left',
    ],
    [
      'says rows and pace alone without a count of the last run',
      { ...reading, retries: 1, list: { ...list, expected: undefined, secondsLeft: undefined } },
      'nightly: reading leads, 120,000 rows, 34.1 MB, 1 retry, 2,400 rows/s',
    ],
    [
      'claims no share when more rows came than the last run had',
      { ...reading, list: { ...list, expected: 119_999, secondsLeft: undefined } },
      'nightly: reading leads, 120,000 rows, 34.1 MB, 12 retries, 2,400 rows/s',
    ],
    [
      'says when the next attempt comes while nothing else is waited for',
      { ...reading, wait: { until: 'next attempt' as const, seconds: 24 } },
      'nightly: reading leads, 120,000 rows (40%), 34.1 MB, 12 retries, next attempt in 24 s',
    ],
    [
      'says when the end of a list is checked again',
      { ...reading, wait: { until: 'end checked again' as const, seconds: 5 } },
      'nightly: reading leads, 120,000 rows (40%), 34.1 MB, 12 retries, end checked again in 5 s',
    ],
  ])('%s', (_, snapshot, line) => {
    expect(statusLine('nightly', snapshot)).toBe(line);
  });

  test('leaves out the name first, then the bytes, where there is too little room', () => {
    const whole = statusLine('nightly', reading);
    expect(statusLine('nightly', reading, whole.length - 1)).toBe(whole.replace('nightly: ', ''));
    expect(statusLine('nightly', reading, 70)).toBe('reading leads, 120,000 rows (40%), 12 retries, 2,400 rows/s, 1:15 left');
  });

  test('is never longer than there is room', () => {
    const count = fc.nat({ max: 10 ** 12 });
    const lists = fc.record({
      collection: fc.stringMatching(/^[a-z_]{1,40}$/),
      pages: count,
      rows: count,
      expected: fc.option(count, { nil: undefined }),
      rowsPerSecond: fc.option(count, { nil: undefined }),
      secondsLeft: fc.option(count, { nil: undefined }),
    });
    const snapshot = fc.record({
      doing: fc.stringMatching(/^[a-z ]{1,60}$/),
      list: fc.option(lists, { nil: undefined }),
      bytes: count,
      retries: count,
      wait: fc.option(fc.record({ until: fc.constantFrom('next attempt' as const, 'end checked again' as const), seconds: count }), {
        nil: undefined,
      }),
    });
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9.]{1,80}$/), snapshot, fc.integer({ min: 1, max: 200 }), (name, shown, width) => {
        expect(statusLine(name, shown, width).length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

test.each([
  [0.2, '0:01'],
  [75, '1:15'],
  [3_599.5, '1:00:00'],
  [7_420, '2:03:40'],
])('%d seconds are %s', (seconds, text) => {
  expect(lengthOf(seconds)).toBe(text);
});

test.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [34_100_000, '34.1 MB'],
  [5e15, '5000.0 TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(sizeOf(bytes)).toBe(text);
});

describe('a recent rate', () => {
  test('is not known in the first moment', () => {
    const rate = new RecentRate(0);
    rate.add(100, 500);
    expect(rate.perSecond(400)).toBeUndefined();
  });

  test('is that since the beginning until ten seconds are over', () => {
    const rate = new RecentRate(0);
    rate.add(1_000, 500);
    rate.add(4_000, 2_000);
    expect(rate.perSecond(4_000)).toBe(500);
    expect(rate.perSecond(8_000)).toBe(250);
  });

  test('forgets what is older than ten seconds, and falls to nothing when nothing comes', () => {
    const rate = new RecentRate(0);
    for (let second = 1; second <= 60; second += 1) rate.add(second * 1_000, second <= 30 ? second * 1_000 : 30_000 + (second - 30) * 10);
    expect(rate.perSecond(60_000)).toBe(10);
    expect(rate.perSecond(75_000)).toBe(0);
  });
});
