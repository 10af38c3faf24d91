import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { diagnoseService, type Diagnosis } from '../../src/index.js';
import { generate, type StartOptions } from '../../src/service/index.js';
import { cli } from '../support/cli.js';
import { answer, json, withServer, type Handler } from '../support/odd-server.js';
import { service, serviceOf, testKey } from '../support/services.js';
import { temporaryFolder, visible } from '../support/temporary.js';

const fast = ['--rate-limit', '500'];

/** What doctor found of the service of an environment: exit code, and outcome and message by check. */
async function found(env: Readonly<Record<string, string>>, parameters: readonly string[] = fast) {
  const { code, stdout, stderr } = await cli(['doctor', '--format', 'json', ...parameters], { cwd: await temporaryFolder(), env });
  const diagnosis: Diagnosis = JSON.parse(stdout);
  const told = Object.fromEntries(diagnosis.findings.map(({ check, outcome, message }) => [check, `${outcome}: ${message}`]));
  return { code, stderr, diagnosis, told };
}

async function foundOf(options: Partial<StartOptions>, source = generate({ leads: 700, bridges: 5, seed: 3 })) {
  return found((await service(source, options)).env);
}

const everything = [
  ...['reachable', 'credentials', 'wrong_key', 'collections', 'first_page', 'limit', 'end_of_list', 'order', 'single_record', 'latency'],
  'concurrency',
];

describe('doctor', () => {
  test('says what it asked, without credentials, identifiers and personal data, and gives a block to paste', async () => {
    const [from, cwd] = [await service(generate({ leads: 700, bridges: 5, seed: 3 })), await temporaryFolder()];
    const { code, stdout, stderr } = await cli(['doctor', ...fast], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: `measuring ${from.url} with at most 60 requests\n` });
    expect(stdout).toContain(`ok       first page: page 1 is the first; page 0 returns HTTP 400 (an object with the keys error)\n`);
    expect(stdout).toMatch(
      new RegExp(
        `^ +GET ${from.url}/api/leads\\?page=0&limit=20&rest_api_key=\\*\\*\\* -> HTTP 400, an object with the keys error, \\d+ ms$`,
        'm',
      ),
    );
    expect(stdout).toContain('/api/leads/{id}?rest_api_key=*** -> HTTP 200, 1 row');
    expect(stdout).toMatch(
      /\nFor the pipeline file:\n\nservice:\n {2}base_url: \$\{LEADSTREAM_BASE_URL\}\n {2}auth:\n {4}rest_api_key: \$\{LEADSTREAM_REST_API_KEY\}\n {2}first_page: 1\n {2}limit: 500\n$/,
    );
    const rows = Array.from({ length: 700 }, (_, index): Record<string, string> =>
      JSON.parse(generate({ leads: 700, bridges: 5, seed: 3 }).leads.row(index)),
    );
    for (const { lead_id, email, lastname } of rows)
      for (const value of [lead_id, email, lastname].filter((text) => text !== undefined && text.length > 3))
        expect(stdout).not.toContain(value);
    expect(stdout).not.toContain(testKey);
    expect(await visible(cwd)).toEqual([]);
  });

  test('times the list that it measures alone, and no pages behind its end', async () => {
    const { diagnosis } = await foundOf({}, generate({ leads: 250, bridges: 5, seed: 3 }));
    const evidence = (check: string) => diagnosis.findings.find((finding) => finding.check === check)?.evidence ?? [];
    expect(diagnosis.latency.map(({ limit, requests }) => [limit, requests])).toEqual(
      [1, 30, 100].map((limit) => [limit, expect.any(Number)]),
    );
    for (const { request } of evidence('latency')) expect(request).toContain('/api/leads?');
    expect(evidence('latency').filter(({ request }) => request.includes('limit=1&')).length).toBeGreaterThanOrEqual(3);
    const pages = evidence('concurrency').map(({ request }) => Number(/[?&]page=(\d+)/.exec(request)?.[1]));
    // A burst of four finds the end; the one of eight asks for no page behind it.
    expect(pages.filter((page) => page > 3)).toEqual([4]);
    expect(pages).toHaveLength(14);
  });

  test('sends no more than 60 requests, counted at the service, and keeps its pace', async () => {
    const starts: number[] = [];
    const onRequest = () => void starts.push(performance.now());
    const from = await service(generate({ leads: 5_000, seed: 3 }), { quirks: { cap: 301, 'refuse-over-cap': true }, onRequest });
    const { diagnosis } = await found(from.env, ['--rate-limit', '40']);
    expect(starts).toHaveLength(diagnosis.requests);
    expect(starts.length).toBeGreaterThan(40);
    expect(starts.length).toBeLessThanOrEqual(60);
    // The last burst is of eight at once, and what a busy machine delays is never sent sooner.
    const [first = 0, last = 0] = [starts[0], starts.at(-9)];
    expect(last - first).toBeGreaterThanOrEqual(((starts.length - 12) * 1000) / 40);
  });

  test('stops at 60 requests, and says of the rest that it is not determined', async () => {
    const from = await service(generate({ leads: 5_000, seed: 3 }), {
      quirks: { cap: 301, 'refuse-over-cap': true },
      faults: ['503=0@times=1'],
    });
    const { diagnosis, told } = await found(from.env);
    expect(diagnosis.requests).toBe(60);
    expect(from.probes).toHaveLength(60);
    expect(told['concurrency']).toMatch(
      /^note: responses per second: 1 in flight: [\d.]+\/s; the 60 requests were used up before 2 in flight could be measured$/,
    );
  });

  test('takes what a file says of its service over into the block, and measures the collections that it reads', async () => {
    const [from, cwd] = [await service(generate({ leads: 50, bridges: 300, seed: 3 }), { quirks: { cap: 40 } }), await temporaryFolder()];
    const auth = 'auth: { rest_api_key: "${MY_KEY}" }';
    const file = `name: p\nservice: { base_url: "\${MY_URL}", ${auth}, timeout: 5s, limit: 500, rate_limit: 300/s }\nfrom: bridges\nto:\n  - stdout: {}\n`;
    await writeFile(join(cwd, 'p.yaml'), file);
    const { code, stdout } = await cli(['doctor', 'p.yaml', ...fast], { cwd, env: { MY_URL: from.url, MY_KEY: testKey } });
    expect(code).toBe(0);
    expect(stdout).toContain('requests, at most 300/s; pages of bridges');
    const block = [
      'base_url: ${MY_URL}',
      'auth:\n    rest_api_key: ${MY_KEY}',
      'timeout: 5s',
      'limit: 40',
      'rate_limit: 300/s',
      'first_page: 1',
    ];
    expect(stdout.endsWith(`\nservice:\n  ${block.join('\n  ')}\n`)).toBe(true);
    expect(from.probes.every((request) => request.startsWith('bridges'))).toBe(true);
  });

  test('finds the form of credentials that works where the given one does not', async () => {
    const key = 'key-of-the-user-1';
    const restApiKey = createHash('md5').update(key).digest('hex');
    const from = await service(generate({ leads: 700, seed: 3 }), { accounts: [{ restApiKey }] });
    const env = { LEADSTREAM_BASE_URL: from.url, LEADSTREAM_AUTHORIZED_UID: '7', LEADSTREAM_AUTHORIZED_REST_API_KEY: key };
    const { code, told, diagnosis } = await found(env);
    expect(code).toBe(0);
    expect(told['credentials']).toBe(
      "note: authorized_uid + authorized_rest_api_key is refused; rest_api_key, the user's key is refused; rest_api_key, the MD5 of the user's key works",
    );
    expect(diagnosis.block).toContain('rest_api_key: ${LEADSTREAM_REST_API_KEY} # set it to the MD5 of authorized_rest_api_key');
    expect(JSON.stringify(diagnosis)).not.toContain(restApiKey);
  });

  test.each([
    [
      'an account that is refused',
      { accounts: [{ restApiKey: 'another-key-12' }] },
      { credentials: 'problem: rest_api_key is refused; check the key' },
    ],
    ['HTML', { faults: ['html'] }, { reachable: 'problem: HTTP 200 (HTML): this is not a response of the service' }],
    ['404 everywhere', { faults: ['404'] }, { reachable: 'problem: HTTP 404 (an object with the keys error): nothing was found there' }],
    ['errors with 200', { faults: ['error-object'] }, { reachable: 'problem: HTTP 200 (an object with the keys error)' }],
    [
      '503',
      { faults: ['503=0'] },
      { reachable: 'problem: HTTP 503 (an object with the keys error): the service is reachable but failing' },
    ],
    ['cut answers', { faults: ['cut=length'] }, { reachable: 'problem: the response was cut off' }],
    ['a redirect', { faults: ['redirect=http://127.0.0.1:9'] }, { reachable: 'problem: HTTP 302 (a redirect, which is never followed)' }],
    [
      'an empty page before others',
      { quirks: { 'empty-page': 2 } },
      {
        order:
          'problem: page 2 is empty each time, but page 3 has rows: a run cannot know where such a list ends, and fails with E_SOURCE_ORDER',
      },
    ],
    [
      'an empty page that only several requests at once came upon',
      { quirks: { 'empty-page': 3 } },
      {
        order:
          'problem: page 3 is empty each time, but page 4 has rows: a run cannot know where such a list ends, and fails with E_SOURCE_ORDER',
      },
    ],
    [
      'pages that are all the same',
      { quirks: { 'ignore-page': true } },
      { first_page: 'problem: page is ignored: page 1 and page 2 have the same rows' },
    ],
    ['400 past the end', { faults: ['400@page=8-'] }, { end_of_list: 'problem: a page past the end returns HTTP 400' }],
    [
      'a page 0 that is sometimes empty and sometimes not',
      { faults: ['empty-list@requests=9'], quirks: { 'first-page': 0 } },
      { first_page: 'unknown: not determined: page 0 is sometimes empty and sometimes not' },
    ],
    ['503 on page 0', { faults: ['503=0@page=0'] }, { first_page: 'unknown: not determined: ' }],
    ['a collection that is not there', { faults: ['404@collection=links'] }, { collections: 'problem: links: HTTP 404' }],
    [
      'no row at all',
      {},
      { collections: 'note: without rows: leads, ', first_page: 'unknown: not determined: no paged collection returned a row' },
    ],
  ] satisfies [string, Partial<StartOptions>, Record<string, string>][])(
    'tells %s, fails with 76 and gives no block',
    async (name, options, expected) => {
      const from =
        name === 'no row at all' ? await serviceOf({ leads: [] }) : await service(generate({ leads: 700, bridges: 5, seed: 3 }), options);
      const { code, told, diagnosis, stderr } = await found(from.env);
      expect({ code, block: diagnosis.block }).toEqual({ code: 76, block: undefined });
      for (const [check, message] of Object.entries(expected)) expect(told[check]).toContain(message);
      expect(Object.keys(told).toSorted()).toEqual(everything.toSorted());
      expect(stderr).toContain('E_SERVICE_UNKNOWN');
      expect(stderr + JSON.stringify(diagnosis)).not.toContain(testKey);
    },
  );

  test.each<[string, number, string, boolean]>([
    [
      '503',
      503,
      "unknown: not determined: .*authorized_rest_api_key is refused; rest_api_key, the user's key ended with HTTP 503 .*MD5.* ended with HTTP 503 ",
      false,
    ],
    ['429', 429, 'ended with HTTP 429 ', false],
    ['400', 400, 'ended with HTTP 400 ', false],
    ['503 for leads alone', 503, "^note: .*refused; rest_api_key, the user's key works; .* works$", true],
  ])('does not say of credentials that they work, where they ended with %s', async (_name, status, expected, onlyLeads) => {
    const handler: Handler = (...asked) => {
      const [, url] = asked;
      if (url.searchParams.has('authorized_uid')) return answer(401, '{}')(...asked);
      return onlyLeads && !url.pathname.includes('leads') ? json([])(...asked) : answer(status, '{}')(...asked);
    };
    await withServer(handler, async ({ url }) => {
      const env = { LEADSTREAM_BASE_URL: url, LEADSTREAM_AUTHORIZED_UID: '7', LEADSTREAM_AUTHORIZED_REST_API_KEY: 'key-of-the-user-1' };
      const { told } = await found(env);
      expect(told['credentials']).toMatch(new RegExp(expected));
      if (!onlyLeads) expect(told['credentials']).not.toContain('works');
    });
  });

  test('is right that a run fails by 400 past the end', async () => {
    const [from, cwd] = [await service(generate({ leads: 700, seed: 3 }), { faults: ['400@page=3-'] }), await temporaryFolder()];
    await writeFile(join(cwd, 'p.yaml'), 'name: p\nservice: { limit: 500, end_wait: 1ms }\nfrom: leads\nto:\n  - csv: { path: l.csv }\n');
    expect(await cli(['run', 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 69 });
  });

  test.each([[1], [2], [5]])('does not guess about lists of %i rows', async (leads) => {
    const { code, told, diagnosis } = await foundOf({}, generate({ leads, bridges: 1, links: 1, users: 1, seed: 3 }));
    expect({ code, ...told }).toMatchObject({
      code: 0,
      first_page: expect.stringContaining('ok: page 1 is the first'),
      limit: expect.stringMatching(/not determined, because leads has only/),
    });
    expect(diagnosis.block).toContain('limit: 500');
  });

  test('notices a list that changes', async () => {
    const { told } = await foundOf({ drift: { every: 1, changes: ['insert-head'], most: 60 } });
    expect(told['order']).toContain('note: the list changed between two reads');
  });

  test('says of a service that gives no answer why not', async () => {
    const { code, told } = await found({ LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: testKey });
    expect({ code, reachable: told['reachable'] }).toEqual({
      code: 76,
      reachable: expect.stringContaining('problem: no connection (ECONNREFUSED 127.0.0.1:9)'),
    });
  });

  test.each<[string, Handler, Record<string, string>]>([
    [
      'a service that takes any key',
      json([]),
      { wrong_key: 'note: a wrong key returns 0 rows: the service does not check credentials here' },
    ],
    [
      'a service that answers wrong keys with 400',
      answer(400, '{"message":"bad key"}'),
      { reachable: 'HTTP 400 (an object with the keys message)' },
    ],
    ['a service that tells the key', answer(500, JSON.stringify({ [testKey]: 'x' })), { reachable: 'HTTP 500' }],
  ])('sees %s', async (_name, handler, expected) => {
    await withServer(handler, async ({ url }) => {
      const { code, told, diagnosis } = await found({ LEADSTREAM_BASE_URL: url, LEADSTREAM_REST_API_KEY: testKey });
      expect(code).toBe(76);
      for (const [check, message] of Object.entries(expected)) expect(told[check]).toContain(message);
      expect(JSON.stringify(diagnosis)).not.toContain(testKey);
    });
  });

  test('refuses before any request what cannot be', async () => {
    const cwd = await temporaryFolder();
    expect(await cli(['doctor'], { cwd })).toMatchObject({ code: 78, stderr: expect.stringContaining('LEADSTREAM_BASE_URL') });
    expect(await cli(['doctor', '--rate-limit', '0'], { cwd })).toMatchObject({ code: 2 });
    expect(await cli(['doctor', '--set', 'service.limit=1'], { cwd })).toMatchObject({ code: 2 });
    await expect(diagnoseService({ baseUrl: 'nonsense', auth: { rest_api_key: testKey } })).rejects.toMatchObject({
      code: 'E_SOURCE_CONFIG',
    });
  });

  test('is stopped by its signal', async () => {
    const stop = new AbortController();
    const from = await service(generate({ leads: 700, seed: 3 }), { onRequest: () => stop.abort(), faults: ['hang'] });
    const diagnosis = diagnoseService({ baseUrl: from.url, auth: { rest_api_key: testKey } }, { signal: stop.signal });
    await expect(diagnosis).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
  });
});
