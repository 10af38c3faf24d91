import { expect, test } from '@jest/globals';
import { diagnoseService } from '../../../src/index.js';
import { rung } from '../../support/rung.js';
import { service, testKey } from '../../support/services.js';
import { diagnosed, type Diagnosed, type Seen } from './support.js';

/** The sizes of the bursts that were sent, in order. */
const bursts = ({ seen }: Diagnosed) => seen.filter(({ together, place }) => together > 1 && place === 1).map(({ together }) => together);
const measured = ({ diagnosis }: Diagnosed) => diagnosis.concurrency.map(({ inFlight }) => inFlight);

/** What a service refuses that bears so many requests at once. */
const over =
  (bears: number, status: number, retryAfter?: number) =>
  ({ place }: Seen) =>
    place > bears && { status, ...(retryAfter !== undefined && { retryAfter }) };

test('puts a single failure down to chance when the same burst comes whole the next time', async () => {
  let failed = 0;
  const found = await diagnosed(({ together, place }) => together === 8 && place === 7 && (failed += 1) === 1 && { status: 503 });
  expect(found.concurrency).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(
      /; HTTP 503 .* occurred, possibly by chance \(1 of 22 requests sent together failed, 0 of \d\d sent alone\)$/,
    ),
  });
  expect(measured(found)).toEqual([1, 2, 4, 8]);
  expect(found.diagnosis.block).not.toContain('concurrency');
});

test('blames no concurrency for what fails as often alone', async () => {
  let asked = 0;
  const found = await diagnosed(
    ({ page, limit, together }) => {
      const isCounted = page === 1 && limit === 100 && together !== 2;
      return isCounted && (asked += 1) % 2 === 1 && { status: 503 };
    },
    { collections: ['leads'] },
  );
  expect(found.concurrency).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(/possibly by chance \(.*before 8 in flight all succeeded$/),
  });
  expect(found.diagnosis.block).not.toContain('concurrency');
});

test('leaves out of bursts a page that fails alone, too', async () => {
  const found = await diagnosed(({ page, limit }) => page === 7 && limit === 100 && { status: 503 });
  expect(found.concurrency).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(/; page 7 also fails on its own: HTTP 503 \([^)]*\)$/),
  });
  expect(measured(found)).toEqual([1, 2, 4, 8]);
  expect(found.diagnosis.block).not.toContain('concurrency');
});

test('sets concurrency to what the service bore, when half of a greater burst fails and nothing did before', async () => {
  const found = await diagnosed(over(4, 503));
  expect(found.concurrency).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(
      /^with 8 requests in flight, some failed with HTTP 503 .* \(4 of 8 requests sent together failed, 0 of \d\d sent alone\); lower concurrency/,
    ),
  });
  expect(found.diagnosis.block).toContain('concurrency: 4');
});

/** What a service bears, the concurrency that follows, and the burst that is refused. */
const bearing: readonly (readonly [number, number, number])[] = [
  [7, 4, 8],
  [5, 4, 8],
  [3, 2, 4],
  [2, 2, 4],
  [1, 1, 2],
];

test.each(rung(bearing.slice(0, 1), bearing))(
  'takes a service that bears %i requests at its word when it says 429',
  async (bears, concurrency, size) => {
    const found = await diagnosed(over(bears, 429));
    expect(found.concurrency.message).toMatch(
      new RegExp(
        `^with ${size} requests in flight, some failed with HTTP 429 .* \\(${size - bears} of ${size} requests .*; lower concurrency, or set rate_limit$`,
      ),
    );
    // One burst is enough, and what it bears is sent again.
    expect(bursts(found).filter((length) => length === size)).toHaveLength(1);
    expect(found.diagnosis.block).toContain(`concurrency: ${concurrency}\n`);
  },
);

test('takes a burst that came whole by luck back when it is refused the next time', async () => {
  let fours = 0;
  const found = await diagnosed(({ together, place }) => {
    if (together === 4 && place === 1) fours += 1;
    return place > (fours > 1 || together > 4 ? 2 : 4) && { status: 429 };
  });
  expect(found.concurrency.message).toMatch(/^with 4 requests in flight, some failed with HTTP 429 /);
  expect(measured(found)).toEqual([1, 2]);
  expect(found.diagnosis.block).toContain('concurrency: 2\n');
});

test('says of a service that refuses single requests by 429, too, that it limits the rate', async () => {
  const found = await diagnosed(({ sent, together }) => (together > 2 || sent % 9 === 8) && { status: 429 });
  expect(found.concurrency.message).toMatch(
    /^with [24] requests in flight, some failed with HTTP 429 .*; \d requests sent alone also got HTTP 429, at no more than 500\/s; set rate_limit, or lower concurrency$/,
  );
  expect(found.diagnosis.block).not.toContain('concurrency');
  const never = await diagnosed(({ sent, together }) => together === 1 && sent === 8 && { status: 429 });
  expect(never.concurrency).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(/; a request sent alone also got HTTP 429, at no more than 500\/s; set rate_limit$/),
  });
});

test('takes three failures of one size for a limit when no smaller burst failed, and nothing alone', async () => {
  const found = await diagnosed(over(7, 503));
  expect(found.concurrency.message).toMatch(
    /^with 8 requests in flight, some failed with HTTP 503 .* \(3 of 24 requests .*; lower concurrency/,
  );
  expect(found.diagnosis.block).toContain('concurrency: 4\n');
});

test('does not count what fails for its own reason as a failure by chance', async () => {
  const found = await diagnosed((request) => (request.id === '999999999999999999' ? { status: 500 } : over(4, 503)(request)));
  expect(found.concurrency.message).toMatch(
    /^with 8 requests in flight, some failed with HTTP 503 .* \(\d+ of \d+ requests sent together failed, 0 of \d\d sent alone\); lower concurrency/,
  );
  expect(found.diagnosis.block).toContain('concurrency: 4\n');
});

test('takes a burst for failed that is answered with something other than rows', async () => {
  const found = await diagnosed(over(2, 403));
  expect(found.concurrency.message).toMatch(
    /^with [48] requests in flight, some failed with HTTP 403 .*; lower concurrency, or set rate_limit$/,
  );
  expect(found.diagnosis.block).toContain('concurrency: 2\n');
});

test.each(rung([503], [429, 503]))('sends nothing before the time that a burst was told by %i to come back', async (status) => {
  let [until, early] = [0, 0];
  const found = await diagnosed(({ place, together }) => {
    if (place === 1 && performance.now() < until) early += 1;
    if (place <= 6) return undefined;
    until = performance.now() + 1_000 - 5;
    return together > 1 && { status, retryAfter: 1 };
  });
  expect(early).toBe(0);
  expect(found.concurrency.message).toMatch(
    /^with 8 requests in flight, some failed with HTTP (?:429|503) .*; lower concurrency, or set rate_limit$/,
  );
  expect(bursts(found).filter((size) => size === 8)).toHaveLength(status === 429 ? 1 : 2);
});

test('sends no second burst when the service asks for a long wait, and says so', async () => {
  const found = await diagnosed(over(5, 503, 60));
  expect(found.concurrency.message).toMatch(
    /; with 8 requests .*.*Retry-After: 60 s.*; that is too long to wait for another attempt; lower concurrency, or set rate_limit$/,
  );
  expect(bursts(found)).toEqual([2, 4, 8]);
  expect(found.seen.at(-1)).toMatchObject({ together: 8 });
  const refused = await diagnosed(over(5, 429, 60));
  expect(refused.concurrency.message).toMatch(
    /^with 8 requests in flight, some failed with HTTP 429 .*; lower concurrency, or set rate_limit$/,
  );
  expect(refused.seen.at(-1)).toMatchObject({ together: 8 });
  expect(refused.diagnosis.block).toContain('concurrency: 4\n');
});

test('asks nothing more of a service that asks a single request to wait for long by 429', async () => {
  const found = await diagnosed(({ sent }) => sent === 8 && { status: 429, retryAfter: 60 });
  expect(found.seen.at(-1)).toMatchObject({ sent: 8 });
  expect(found.diagnosis.findings).toContainEqual(
    expect.objectContaining({ check: 'first_page', outcome: 'unknown', message: expect.stringContaining('Retry-After: 60 s') }),
  );
});

test('says that the requests were used up, not that it may be chance, when nothing is left for another burst', async () => {
  // A cap that takes many requests to find.
  const found = await diagnosed(over(7, 503), { cap: 301 });
  expect(found.diagnosis.requests).toBeLessThanOrEqual(60);
  expect(found.concurrency.message).toMatch(
    /; with 8 requests in flight, some failed with HTTP 503 .* \(\d of \d+ requests sent together failed, .*\); the 60 requests were used up before chance could be ruled out$/,
  );
  expect(found.concurrency.message).not.toContain('possibly by chance');
});

test('says of a size that was not sent that the requests were used up, not that more were no faster', async () => {
  let single = 0;
  const found = await diagnosed(({ together }) => together === 1 && (single += 1) % 2 === 0 && { status: 503 });
  expect(found.diagnosis.requests).toBeGreaterThan(50);
  expect(found.concurrency).toMatchObject({
    outcome: 'note',
    message: expect.stringMatching(/; the 60 requests were used up before \d in flight could be measured$/),
  });
});

test('asks once, and then waits as long as a timer can, where the rate asks for more', async () => {
  const from = await service();
  const stop = new AbortController();
  let asked = 0;
  const watch = { request: { start: () => (asked += 1), asyncEnd: () => void setTimeout(() => stop.abort(), 100) } };
  const options = { ratePerSecond: 1e-9, service: { base_url: from.url }, signal: stop.signal, watch };
  const diagnosis = diagnoseService({ baseUrl: from.url, auth: { rest_api_key: testKey } }, options);
  await expect(diagnosis).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
  expect(asked).toBe(1);
});
