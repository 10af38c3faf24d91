import { Subject, lastValueFrom, switchMap, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { collections } from '../../../src/collections/index.js';
import { RateLimiter } from '../../../src/http/pacer.js';
import { retryAfterMs } from '../../../src/http/transport.js';
import { retryAttempts } from '../../../src/http/requests.js';
import { SourceError } from '../../../src/core/errors.js';
import { marbles } from '../../support/pages.js';
import { answer, inTurn, json, list, ownServer, clientOf } from '../../support/odd-server.js';

const down = (retryAfter?: number) => new SourceError('E_SOURCE_UNAVAILABLE', 'transient', 'down', { retryAfterMs: retryAfter });

describe('backoff', () => {
  test('is full jitter: random * min(cap, base * 2^(n-1))', () => {
    const delays: number[] = [];
    marbles(({ cold, expectObservable }) => {
      const policy = { attempts: 7, baseMs: 10, capMs: 100 };
      const retried = retryAttempts(policy, { random: () => 0.5 }, (_error, _failed, delayMs) => delays.push(delayMs));
      expectObservable(retried(() => cold('#', {}, down()))).toBe(
        '175ms #',
        {},
        expect.objectContaining({ message: 'down (after 7 attempts)' }),
      );
    });
    expect(delays).toEqual([5, 10, 20, 40, 50, 50]);
  });

  test('waits no longer than a timer can, which would not wait at all', () => {
    const delays: number[] = [];
    const policy = { attempts: 3, baseMs: 2 ** 32, capMs: 2 ** 40 };
    const retried = retryAttempts(policy, { random: () => 1 }, (_error, _failed, delayMs) => delays.push(delayMs));
    marbles(({ cold, flush }) => {
      retried(() => cold('#', {}, down())).subscribe({ error: () => {} });
      flush();
    });
    expect(delays).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
  });

  test('waits at least as long as the service asks', () => {
    const notices: unknown[] = [];
    marbles(({ cold, expectObservable }) => {
      const retried = retryAttempts({ attempts: 2, baseMs: 10, capMs: 100 }, { random: () => 1 }, (...notice) => notices.push(notice));
      expectObservable(retried(() => cold('#', {}, down(3000)))).toBe('3s #', {}, expect.any(SourceError));
    });
    expect(notices).toEqual([[expect.objectContaining({ message: 'down' }), 1, 3000]]);
  });
});

describe('unsubscribe', () => {
  test('during the backoff makes no more requests', async () => {
    const { url, requests } = await ownServer(answer(500));
    const failed = new Subject<void>();
    const options = { baseUrl: url, retry: { attempts: 5, baseMs: 20, capMs: 20 }, random: () => 1, watch: { retry: () => failed.next() } };
    const [client] = clientOf(options);
    const subscription = list(client.reader(collections.leads), 1).subscribe();
    await new Promise<void>((done) => failed.subscribe(() => done()));
    subscription.unsubscribe();
    await new Promise((done) => setTimeout(done, 60));
    expect(requests).toHaveLength(1);
  });
});

describe('pace', () => {
  const createPacer = (perSecond: number, limiter: RateLimiter) => ({
    paced: <T>(request$: Observable<T>) => limiter.turn$(1000 / perSecond).pipe(switchMap(() => request$)),
    pause: (delayMs: number) => limiter.pause(delayMs),
  });

  function paced(test: (clock: () => number, scheduler: TestScheduler) => void): void {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(() => test(() => scheduler.now(), scheduler));
  }

  test('spaces those of several pacers that share a limiter, and holds them all', () => {
    paced((now, scheduler) => {
      const limiter = new RateLimiter(scheduler);
      const pacers = [createPacer(20, limiter), createPacer(10, limiter)];
      const starts: number[] = [];
      const start = (): void => {
        for (const pacer of pacers)
          scheduler
            .createColdObservable('|')
            .pipe(pacer.paced)
            .subscribe({ complete: () => starts.push(now()) });
      };
      start();
      scheduler.schedule(() => {
        pacers[0]?.pause(1000);
        start();
      }, 300);
      scheduler.flush();
      expect(starts).toEqual([0, 50, 1300, 1350]);
    });
  });

  test('slows every request of the client after a 429, not only the page that got it', async () => {
    const order: string[] = [];
    const handler = inTurn(answer(429, '', { 'retry-after': '1' }), (response, url, attempt, request) => {
      order.push(url.searchParams.get('page') ?? '');
      json([])(response, url, attempt, request);
    });
    const { url } = await ownServer(handler);
    const paused = new Subject<void>();
    const [client] = clientOf({ baseUrl: url, watch: { retry: () => paused.next() } });
    const reader = client.reader(collections.leads);
    const first = new Promise<void>((done) => paused.subscribe(() => done()));
    const one = lastValueFrom(list(reader, 1));
    await first;
    const two = lastValueFrom(list(reader, 2));
    await new Promise((done) => setTimeout(done, 300));
    expect(order).toEqual([]);
    await Promise.all([one, two]);
    expect(order.sort()).toEqual(['1', '2']);
  });
});

const now = Date.UTC(2026, 10, 20, 12, 0, 0);

test.each([
  [undefined, undefined],
  ['0', 0],
  ['1', 1000],
  [' 120 ', 120_000],
  ['9999999999', 9_999_999_999_000],
  ['1.5', undefined],
  ['soon', undefined],
  ['Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
  ['Friday, 20-Nov-26 12:00:30 GMT', 30_000],
  ['Fri Nov 20 12:00:30 2026', 30_000],
  ['Fri, 20 Nov 2026 11:59:00 GMT', 0],
])('retryAfterMs of %j is %p', (header, expected) => {
  expect(retryAfterMs(header, now)).toBe(expected);
});
