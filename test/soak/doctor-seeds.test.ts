import { test, expect } from '@jest/globals';
import fc from 'fast-check';
import { diagnoseService } from '../../src/index.js';
import { generate, startService } from '../../src/service/index.js';
import { testKey } from '../support/services.js';

/** Ways to build such a service, in any combination. */
const quirks = fc.record(
  {
    'first-page': fc.constantFrom(0, 1),
    cap: fc.integer({ min: 1, max: 700 }),
    'refuse-over-cap': fc.constant(true),
    'default-limit': fc.integer({ min: 1, max: 100 }),
    'repeat-last': fc.constant(true),
    'bare-record': fc.constant(true),
    'paged-links': fc.constant(true),
    'not-found': fc.constantFrom('404', 'object', 'null', 'nothing'),
    'unstable-order': fc.integer({ min: 2, max: 8 }),
    'missing-fields': fc.constant(0.3),
    'non-strings': fc.constant(0.3),
  },
  { requiredKeys: [] },
);

type Quirks = typeof quirks extends fc.Arbitrary<infer Q> ? Q : never;

test('what doctor is sure of is so, whatever the service is like', async () => {
  const check = async (given: Quirks, leads: number, seed: number) => {
    const source = generate({ leads, bridges: 3, links: 2, users: 2, seed });
    const service = await startService({ source, accounts: [{ restApiKey: testKey }], quirks: given, seed });
    try {
      const {
        ready,
        block = '',
        findings,
        requests,
      } = await diagnoseService(
        { baseUrl: service.url, auth: { rest_api_key: testKey } },
        { collections: ['leads'], ratePerSecond: 5_000 },
      );
      expect(requests).toBeLessThanOrEqual(60);
      const [, firstPage] = /first_page: (\d)/.exec(block) ?? [];
      const [, limit] = /limit: (\d+)/.exec(block) ?? [];
      const cap = Math.min(given.cap ?? 500, 500);
      const told = JSON.stringify(findings.map(({ check: point, outcome, message }) => [point, outcome, message]));
      if (!ready) {
        // Few rows do not tell pages apart, nor do rows that are on another page each time; all others do.
        expect([leads < 30 || given['unstable-order'] !== undefined, told]).toEqual([true, told]);
        return;
      }
      expect([Number(firstPage), told]).toEqual([given['first-page'] ?? 1, told]);
      // Where the list has no more rows than a page may have, any limit that is accepted is right.
      if (leads > cap || given['refuse-over-cap']) expect([Number(limit), told]).toEqual([cap, told]);
      else expect(Number(limit)).toBeGreaterThanOrEqual(Math.min(cap, leads));
    } finally {
      await service.close();
    }
  };
  const shuffled: Quirks = { cap: 1, 'unstable-order': 2 };
  await fc.assert(
    fc.asyncProperty(quirks, fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 41, max: 2_000 })), fc.nat(1_000), check),
    { numRuns: 60, examples: [204, 372, 384].map((seed): [Quirks, number, number] => [shuffled, 41, seed]) },
  );
}, 600_000);

const kinds = [
  'html',
  '503=0',
  '429=0',
  '429=60',
  '500',
  '404',
  '400',
  '401',
  'empty-list',
  'null',
  'empty-body',
  'error-object',
  'cut=length',
  'non-objects',
];
const terms = fc.constantFrom(
  '',
  '@rate=0.15',
  '@rate=0.5',
  '@times=1',
  '@times=2',
  '@page=0-1',
  '@page=0-1,times=1',
  '@page=2-',
  '@requests=6-9',
);

test('what doctor is sure of is so, whatever goes wrong meanwhile', async () => {
  const check = async (fault: string, firstPage: 0 | 1, cap: number, seed: number) => {
    const source = generate({ leads: 900, bridges: 3, links: 2, users: 2, seed });
    const options = { source, accounts: [{ restApiKey: testKey }], faults: [fault], quirks: { 'first-page': firstPage, cap }, seed };
    const service = await startService(options);
    try {
      const { ready, block, findings, requests } = await diagnoseService(
        { baseUrl: service.url, auth: { rest_api_key: testKey } },
        { collections: ['leads'], ratePerSecond: 5_000 },
      );
      expect(requests).toBeLessThanOrEqual(60);
      expect(block === undefined).toBe(!ready);
      expect(JSON.stringify(findings)).not.toContain(testKey);
      if (block === undefined) return;
      const told = JSON.stringify(findings.map(({ check: point, outcome, message }) => [point, outcome, message]));
      expect([block.includes(`first_page: ${firstPage}\n`), told]).toEqual([true, told]);
    } finally {
      await service.close();
    }
  };
  const faults = fc.tuple(fc.constantFrom(...kinds), terms).map((parts) => parts.join(''));
  await fc.assert(fc.asyncProperty(faults, fc.constantFrom(0, 1), fc.constantFrom(40, 100, 500), fc.nat(1_000), check), { numRuns: 80 });
}, 600_000);
