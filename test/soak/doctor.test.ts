import { test, expect } from '@jest/globals';
import fc from 'fast-check';
import { diagnoseService } from '../../src/index.js';
import { generate } from '../../src/service/index.js';
import { startMisbehaving } from '../support/misbehaviour.js';
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

const faults = fc.tuple(
  fc.constantFrom('html', '503=0', '429=0', '404', '400', '401', 'empty-list', 'null', 'empty-body', 'cut=length'),
  fc.constantFrom('', '@rate=0.15', '@rate=0.5', '@times=2', '@page=0-1', '@page=2-', '@requests=6-9'),
);

test('a block has the first page and the cap of the service, whatever it is like and whatever goes wrong meanwhile', async () => {
  const leads = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 41, max: 2_000 }));
  const check = async (
    given: typeof quirks extends fc.Arbitrary<infer Q> ? Q : never,
    count: number,
    fault: string | undefined,
    seed: number,
  ) => {
    const source = generate({ leads: count, bridges: 3, links: 2, users: 2, seed });
    const service = await startMisbehaving({
      source,
      accounts: [{ restApiKey: testKey }],
      quirks: given,
      faults: fault === undefined ? [] : [fault],
      seed,
    });
    try {
      const auth = { rest_api_key: testKey };
      const { ready, block, findings, requests } = await diagnoseService(
        { baseUrl: service.url, auth },
        { collections: ['leads'], ratePerSecond: 5_000 },
      );
      const told = JSON.stringify(findings.map(({ check: point, outcome, message }) => [point, outcome, message]));
      expect(requests).toBeLessThanOrEqual(60);
      expect([block !== undefined, told]).toEqual([ready, expect.not.stringContaining(testKey)]);
      if (block === undefined) return expect([fault !== undefined || given['unstable-order'] !== undefined, told]).toEqual([true, told]);
      const [, firstPage = 1] = /first_page: (\d)/.exec(block) ?? [];
      const [, limit] = /limit: (\d+)/.exec(block) ?? [];
      // Few rows may be on any page, where pages repeat others or have no order, and a refusal is believed; a run checks that page 1 is the first.
      const isClear = Math.min(count, given.cap ?? 500) > 20 || (!given['repeat-last'] && given['unstable-order'] === undefined);
      if (isClear && !/^40/.test(fault ?? '')) expect([Number(firstPage), told]).toEqual([given['first-page'] ?? 1, told]);
      const cap = Math.min(given.cap ?? 500, 500);
      if (fault !== undefined) return;
      if (count > cap || given['refuse-over-cap']) expect([Number(limit), told]).toEqual([cap, told]);
      else expect(Number(limit)).toBeGreaterThanOrEqual(Math.min(cap, count));
    } finally {
      await service.close();
    }
  };
  const fault = fc.option(
    faults.map((parts) => parts.join('')),
    { nil: undefined },
  );
  await fc.assert(fc.asyncProperty(quirks, leads, fault, fc.nat(1_000), check), { numRuns: 100 });
}, 900_000);
