import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { flowOf } from '../../../src/cli/report/html/flow.js';
import { Latencies } from '../../../src/cli/report/latencies.js';
import { SlowestRequests } from '../../../src/cli/report/slowest.js';
import { TimelineBuilder } from '../../../src/cli/report/timeline.js';
import type { OperationEvent } from '../../../src/events/index.js';
import { emptyTally } from '../../../src/flow/index.js';

test('quantiles of latencies are within 5 % of the true ones', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 }), (all) => {
      const latencies = new Latencies();
      for (const ms of all) latencies.add(ms);
      const sorted = all.toSorted((a, b) => a - b);
      const { median = NaN, p95 = NaN, max = NaN } = latencies.summary() ?? {};
      const near = (found: number, share: number) => {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(0.05 * exact + 0.06);
      };
      near(median, 0.5);
      near(p95, 0.95);
      expect(max).toBeCloseTo(sorted.at(-1) ?? NaN, 0);
    }),
  );
});

test('the slowest requests are the five that took the longest, also those without an answer', () => {
  const request = (number: number) =>
    ({ url: `/leads?page=${number}`, attempt: 1, ...(number % 2 === 0 ? { status: 200 } : {}) }) as OperationEvent<'request'>;
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 50 }), { maxLength: 30 }), (all) => {
      const slowest = new SlowestRequests();
      all.forEach((ms, index) => slowest.add(request(index), ms));
      expect(slowest.ranked.map(({ ms }) => ms)).toEqual(all.toSorted((a, b) => b - a).slice(0, 5));
      for (const { url, status, ms } of slowest.ranked) {
        const index = Number(url.split('=')[1]);
        expect([ms, status]).toEqual([all[index], index % 2 === 0 ? 200 : undefined]);
      }
    }),
  );
});

test('a timeline keeps all that happened in at most 120 intervals', () => {
  const events = fc.array(fc.record({ at: fc.nat({ max: 50_000_000 }), rows: fc.nat({ max: 500 }) }), { maxLength: 100 });
  fc.assert(
    fc.property(events, (all) => {
      const builder = new TimelineBuilder();
      for (const { at, rows } of all.toSorted((a, b) => a.at - b.at)) builder.add(at, { rows, requests: 1, longestMs: rows });
      const { intervals } = builder.timeline();
      expect(intervals.length).toBeLessThanOrEqual(120);
      expect(intervals.reduce((sum, { rows }) => sum + rows, 0)).toBe(all.reduce((sum, { rows }) => sum + rows, 0));
      expect(intervals.reduce((sum, { requests }) => sum + requests, 0)).toBe(all.length);
      expect(Math.max(0, ...intervals.map(({ longestMs }) => longestMs))).toBe(Math.max(0, ...all.map(({ rows }) => rows)));
    }),
  );
});

describe('the flow of rows', () => {
  const books = {
    read: 100,
    repaired: 0,
    expanded: 20,
    groups: 0,
    written: 70,
    filtered: 40,
    duplicates: 0,
    beyondLimit: 0,
    unmatched: 0,
    rejected: 10,
    unchanged: 0,
    grouped: 0,
  };
  const steps = [
    { at: 'steps[0] filter', tally: { ...emptyTally(), filtered: 40 }, busyMs: 0 },
    { at: 'steps[1] derive', tally: emptyTally(), busyMs: 0 },
    { at: 'steps[2] join', tally: { ...emptyTally(), expanded: 20, rejected: 4 }, busyMs: 0 },
  ];
  const document = { status: 'published', pipeline: 'p', version: '1', collection: 'leads', read: 100, steps } as const;

  test('has a way through the steps that change the number of rows, and all that left and came', () => {
    const sink = { at: 'to[0] csv', path: '/x', bytes: 1, total: 70, changed: 0, nulled: 0, books };
    const flow = flowOf({ ...document, sinks: [sink] });
    const labels = new Map(flow?.nodes.map(({ name, label }) => [name, label.replace('\n', ' ')]));
    expect(flow?.links.map(({ source, target, value }) => `${labels.get(source)} -> ${labels.get(target)}: ${value}`)).toEqual([
      'leads 100 -> steps[0] filter: 100',
      'steps[0] filter -> filtered 40: 40',
      'steps[0] filter -> steps[2] join: 60',
      'expanded 20 -> steps[2] join: 20',
      'steps[2] join -> rejected 4: 4',
      'steps[2] join -> written by to[0] csv 70: 70',
      'steps[2] join -> rejected by to[0] csv 6: 6',
    ]);
  });

  test('says of a run without outputs that its rows were in progress', () => {
    const flow = flowOf({ ...document, status: 'failed', steps: [] });
    expect(flow?.nodes.map(({ label }) => label)).toEqual(['leads\n100', 'in progress,\nnot published\n100']);
  });

  test('is nothing where nothing was read', () => {
    expect(flowOf({ ...document, read: 0 })).toBeUndefined();
  });
});
