import { expect, test } from '@jest/globals';
import { diagnoseService, type Diagnosis } from '../../../src/index.js';
import { answer, json, withServer, type Handler } from '../../support/odd-server.js';
import { testKey } from '../../support/services.js';

/** A list of 1,500 leads in pages of up to 500. Pages of 100 after the fourth are asked for by bursts of eight alone. */
function leadsUnless(fails: (page: number, limit: number) => boolean): Handler {
  return (...asked) => {
    const [, { pathname, searchParams }] = asked;
    const [page, limit] = [Number(searchParams.get('page') ?? 1), Math.min(500, Number(searchParams.get('limit') ?? 30))];
    if (searchParams.get('rest_api_key') !== testKey) return answer(401, '{"error":"key"}')(...asked);
    if (page < 1) return answer(400, '{"error":"page"}')(...asked);
    const single = /leads\/(\d+)$/.exec(pathname)?.[1];
    if (single !== undefined) return json(Number(single) <= 1500 ? [{ lead_id: single }] : [])(...asked);
    if (!pathname.endsWith('/leads')) return json([])(...asked);
    if (fails(page, limit)) return answer(503, '{"error":"busy"}')(...asked);
    const first = (page - 1) * limit + 1;
    const rows = Array.from({ length: Math.max(0, Math.min(limit, 1501 - first)) }, (_, index) => ({ lead_id: String(first + index) }));
    json(rows)(...asked);
  };
}

async function diagnosed(fails: (page: number, limit: number) => boolean): Promise<Diagnosis> {
  let diagnosis: Diagnosis | undefined;
  await withServer(leadsUnless(fails), async ({ url }) => {
    diagnosis = await diagnoseService(
      { baseUrl: url, auth: { rest_api_key: testKey } },
      { ratePerSecond: 500, service: { base_url: url } },
    );
  });
  if (!diagnosis) throw new Error('no diagnosis');
  return diagnosis;
}

const concurrencyOf = ({ findings }: Diagnosis) => findings.find(({ check }) => check === 'concurrency');

test('puts a single failure down to chance when the same burst comes whole the next time', async () => {
  let failed = 0;
  const diagnosis = await diagnosed((page, limit) => page === 7 && limit === 100 && (failed += 1) === 1);
  expect(concurrencyOf(diagnosis)).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(
      /; HTTP 503 .* came, as it may by chance \(1 of 22 requests sent together failed, 0 of \d\d sent alone\)$/,
    ),
  });
  expect(diagnosis.concurrency.map(({ inFlight }) => inFlight)).toEqual([1, 2, 4, 8]);
  expect(diagnosis.block).not.toContain('concurrency');
});

test('blames no concurrency for what fails now and then in every burst', async () => {
  const diagnosis = await diagnosed((page, limit) => page === 7 && limit === 100);
  expect(concurrencyOf(diagnosis)).toMatchObject({ outcome: 'note', message: expect.stringContaining('as it may by chance (') });
  expect(diagnosis.concurrency.map(({ inFlight }) => inFlight)).toEqual([1, 2, 4]);
  expect(diagnosis.block).not.toContain('concurrency');
});

test('sets concurrency to what the service bore, when half of a greater burst fails and nothing did before', async () => {
  const diagnosis = await diagnosed((page, limit) => page > 4 && limit === 100);
  expect(concurrencyOf(diagnosis)).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(
      /^with 8 requests in flight came HTTP 503 .* \(4 of 8 requests sent together failed, 0 of \d\d sent alone\); set concurrency lower/,
    ),
  });
  expect(diagnosis.block).toContain('concurrency: 4');
});
