import { describe, expect, jest, test } from '@jest/globals';
import { connect, type ConnectOptions, type Logger } from '../../../src/index.js';
import { generate } from '../../../src/service/index.js';
import { service, testKey } from '../../support/services.js';

/** A logger that relies on what it belongs to, as that of pino does. */
class Lines implements Logger {
  readonly lines: string[] = [];
  debug = undefined as Logger['debug'];

  info(message: string): void {
    this.lines.push(`info ${message}`);
  }

  warn(message: string): void {
    this.lines.push(`warn ${message}`);
  }

  error(message: string): void {
    this.lines.push(`error ${message}`);
  }
}

class AllLines extends Lines {
  override debug = (message: string): void => void this.lines.push(`debug ${message}`);
}

async function read(logger: Logger, options: Partial<ConnectOptions>, faults: readonly string[] = []) {
  const from = await service(generate({ leads: 250, bridges: 5, seed: 7 }), { faults });
  const auth = { rest_api_key: testKey };
  await using connection = connect({ baseUrl: from.url, auth, limit: 100, endWaitMs: 1, retry: { baseMs: 1 }, logger, ...options });
  let rows = 0;
  for await (const _ of connection.leads) rows += 1;
  return rows;
}

describe.each([0, 1])('with %i threads, a logger', (threads) => {
  test('is told of reads, retries and, where it wants that, of requests and pages, and of no credential', async () => {
    const logger = new AllLines();
    expect(await read(logger, { threads }, ['503@collection=leads,purpose=page,page=2,times=1'])).toBe(250);
    expect(logger.lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^debug leadstream: request http:\S+\/api\/leads\?page=1&limit=100: status 200, \d+ bytes$/),
        expect.stringMatching(/^debug leadstream: request http:\S+page=2&limit=100 \(attempt 2\): status 200, \d+ bytes$/),
        'debug leadstream: leads: page 3, 50 rows, 250 so far',
        expect.stringMatching(/^warn leadstream: http:\S+page=2&limit=100: attempt 1 failed, retrying in \d+ ms: .*503/),
        expect.stringMatching(/^info leadstream: leads: read, 250 rows in \d+ pages?$/),
      ]),
    );
    for (const spelling of [testKey, encodeURIComponent(testKey), '7f3a9c']) expect(logger.lines.join('\n')).not.toContain(spelling);
  });

  test('is told of reads that fail, and of those that were left', async () => {
    const logger = new Lines();
    await expect(read(logger, { threads, auth: { rest_api_key: 'wrong-key-of-a-test' } })).rejects.toMatchObject({ code: 'E_SOURCE_AUTH' });
    expect(logger.lines).toEqual([expect.stringMatching(/^error leadstream: leads: failed: E_SOURCE_AUTH .* after 0 rows in 0 pages$/)]);
    expect(logger.lines.join('\n')).not.toContain('wrong-key');
    const from = await service(generate({ leads: 900, bridges: 5, seed: 7 }));
    await using connection = connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, limit: 100, threads, logger });
    for await (const _ of connection.leads) break;
    expect(logger.lines.at(-1)).toMatch(/^info leadstream: leads: aborted after [\d,]+ rows in \d+ pages?$/);
  });
});

test('a logger is told of a read that its verdict fails', async () => {
  const from = await service(generate({ leads: 1_200, seed: 7 }), { drift: { every: 3, changes: ['delete'] } });
  const logger = new Lines();
  await using connection = connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, limit: 100, endWaitMs: 1, strict: true, logger });
  const read = async () => {
    for await (const _ of connection.leads);
  };
  await expect(read()).rejects.toMatchObject({ code: 'E_GATE_STRICT' });
  expect(logger.lines.at(-1)).toMatch(/^error leadstream: leads: failed: E_GATE_STRICT .* after [\d,]+ rows in \d+ pages?$/);
});

test('a logger that throws is reported and left alone, and the read goes on', async () => {
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const broken: Logger = {
    info: () => {
      throw new Error('disk full');
    },
  };
  expect(await read(broken, {})).toBe(250);
  expect(warned.mock.calls.map(([message]) => String(message))).toEqual([expect.stringContaining('disk full')]);
  warned.mockRestore();
});

test.each<[string, unknown, string]>([
  ['no object', 'console', 'logger must be an object with debug, info, warn, error, like console'],
  ['none of the levels', { log: () => {} }, 'logger must be an object with debug, info, warn, error, like console'],
  ['a level that is no function', { info: 'yes' }, 'logger: info must be a function'],
])('%s is refused at once', (_what, logger, message) => {
  expect(() => connect({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: testKey }, logger: logger as Logger })).toThrow(
    expect.objectContaining({ code: 'E_SOURCE_CONFIG', message: expect.stringContaining(message) }),
  );
});

test('console and what is made of it are loggers', () => {
  expect(() => connect({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: testKey }, logger: console })).not.toThrow();
});

test('a logger is told why a read rests where a list ends with a full page', async () => {
  const logger = new Lines();
  const from = await service(generate({ leads: 200, bridges: 5, seed: 7 }));
  const auth = { rest_api_key: testKey };
  await using connection = connect({ baseUrl: from.url, auth, limit: 100, endWaitMs: 1, logger, consistency: 'off' });
  for await (const _ of connection.leads);
  expect(logger.lines).toEqual([
    'info leadstream: leads: seems to end after 200 rows, which may be an outage; checking again in 1 ms (endWaitMs)',
    expect.stringMatching(/^info leadstream: leads: read, 200 rows/),
  ]);
  for await (const _ of connection.bridges);
  expect(logger.lines.filter((line) => line.includes('bridges'))).toEqual([expect.stringMatching(/bridges: read, 5 rows/)]);
});
