import { createServer } from 'node:http';
import { once } from 'node:events';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collections } from '../../../src/collections/index.js';
import { failure, type Responder } from '../../../src/service/answer.js';
import { cli, startCli, type Finished } from '../../support/cli.js';
import { pipelineText, service, serviceOf, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** The key as it is, and as URLs, forms, JSON and base64 show it. */
const spellings = [
  testKey,
  encodeURIComponent(testKey),
  encodeURI(testKey),
  new URLSearchParams({ k: testKey }).toString().slice(2),
  JSON.stringify(testKey).slice(1, -1),
  Buffer.from(testKey).toString('base64'),
];

async function expectNoKey(cwd: string, { stdout, stderr }: Finished): Promise<void> {
  const files = (await readdir(cwd, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const texts = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')));
  for (const spelling of spellings) {
    for (const text of [stdout, stderr, ...texts, ...files.map(({ name }) => name)]) expect(text.includes(spelling)).toBe(false);
  }
}

const body =
  'from: leads\nsteps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title] }\nto:\n  - parquet: { path: lake/leads }\n  - csv: { path: lake/leads.csv }';
const quickly = ['--set', 'service.retry.attempts=2', '--set', 'service.retry.base=1ms', '--set', 'service.timeout=500ms'];

async function run(
  env: Readonly<Record<string, string>>,
  text = body,
  parameters: readonly string[] = [],
): Promise<{ cwd: string; finished: Finished }> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'p.yaml'), pipelineText(text));
  return { cwd, finished: await cli(['run', 'p.yaml', '--report', 'report.json', ...quickly, ...parameters], { cwd, env }) };
}

const raw = (status: number, headers: Record<string, string>, body: string) => ({ kind: 'raw', status, headers, body }) as const;
const inQuery = `rest_api_key=${encodeURIComponent(testKey)}`;

/** What the service answers, by name, and what the run says of it. */
const answers: readonly (readonly [string, Responder, string])[] = [
  ['HTTP 500', () => failure(500, testKey), 'HTTP 500'],
  ['HTTP 400', () => failure(400, testKey), 'HTTP 400'],
  [
    'a redirect that copies the query',
    () => raw(302, { location: `http://127.0.0.1:9/?${inQuery}` }, ''),
    'a redirect, which is never followed',
  ],
  ['HTML with 200', () => raw(200, { 'content-type': 'text/html' }, `<a href="?${inQuery}">`), 'not JSON'],
  ['an error object that repeats the key', () => raw(200, {}, JSON.stringify({ error: testKey })), 'an object with the keys error'],
  ['an object with the key as a name', () => raw(200, {}, JSON.stringify({ [testKey]: 1 })), 'an object'],
  ['an answer that never comes', () => new Promise(() => {}), 'no response in time'],
];

describe('the key of a run occurs nowhere', () => {
  test('when all goes well', async () => {
    const from = await service();
    const { cwd, finished } = await run(from.env);
    expect(finished.code).toBe(0);
    await expectNoKey(cwd, finished);
  });

  test('in a process of its own', async () => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    await writeFile(join(cwd, 'p.yaml'), pipelineText(body));
    const finished = await startCli(['run', 'p.yaml', '--log-level', 'debug'], { cwd, env: from.env }).finished;
    expect(finished.code).toBe(0);
    await expectNoKey(cwd, finished);
  });

  test.each(answers)('after %s', async (_what, responder, told) => {
    const from = await service(undefined, { responders: [responder] });
    const { cwd, finished } = await run(from.env);
    expect(finished.code).toBe(69);
    expect(finished.stderr).toContain(told);
    await expectNoKey(cwd, finished);
  });

  test.each(['500', 'cut=chunked', 'empty-body', 'non-objects', 'gzip-bomb=100'])(
    'after the fault %s on page 2, in every word that is said',
    async (fault) => {
      const from = await service(undefined, { faults: [`${fault}@page=2`] });
      const { cwd, finished } = await run(from.env, body, ['--log-level', 'debug', '--set', 'service.deadline=8s']);
      expect(finished.code).toBe(69);
      await expectNoKey(cwd, finished);
    },
  );

  test('after a signal', async () => {
    const from = await service(undefined, { faults: ['delay=100'] });
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'p.yaml'), pipelineText(body));
    const { process: child, finished } = startCli(['run', 'p.yaml', '--log-level', 'debug'], { cwd, env: from.env });
    await from.until(({ length }) => length >= 3);
    child.kill('SIGTERM');
    expect((await finished).code).toBe(143);
    await expectNoKey(cwd, await finished);
  });

  // The first place where the command could catch it, and the middle of its work.
  test.each([
    ['while the command loads', "process.on('newListener', (name) => name === 'uncaughtException' && setImmediate(fail))"],
    ['while it reads', "channel.subscribe('http.client.request.start', () => setImmediate(fail))"],
  ])('after an error that nobody caught %s', async (_when, trigger) => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    await writeFile(join(cwd, 'p.yaml'), pipelineText(body).replace('limit: 100', 'limit: 100\n  threads: 0'));
    const fail = "const fail = () => { throw new Error('at ' + process.env.LEADSTREAM_REST_API_KEY) }";
    const bomb = join(await temporaryFolder(), 'bomb.mjs');
    await writeFile(bomb, `import channel from 'node:diagnostics_channel';\n${fail};\n${trigger};\n`);
    const env = { ...from.env, NODE_OPTIONS: `--import ${bomb}` };
    const finished = await startCli(['run', 'p.yaml', '--log-level', 'debug'], { cwd, env }).finished;
    expect(finished.code).toBe(1);
    expect(finished.stderr).toMatch(/^leadstream: E_RUN_FAILED: Error: at \[redacted\]\..*\n$/m);
    await expectNoKey(cwd, finished);
  });

  test('when it is refused', async () => {
    const from = await service(undefined, { accounts: [{ restApiKey: 'another' }] });
    const { cwd, finished } = await run(from.env, body, ['--log-format', 'json']);
    expect(finished.code).toBe(77);
    await expectNoKey(cwd, finished);
  });

  test('when nobody answers', async () => {
    const from = await service();
    await from.close();
    const { cwd, finished } = await run(from.env);
    expect(finished.code).toBe(69);
    await expectNoKey(cwd, finished);
  });

  test('when the pipeline file is wrong', async () => {
    const from = await service();
    const { cwd, finished } = await run(from.env, `${body}\n  - csvv: {}`);
    expect(finished.code).toBe(78);
    await expectNoKey(cwd, finished);
  });

  test('when the base URL holds it', async () => {
    const from = await service();
    const { cwd, finished } = await run({ ...from.env, LEADSTREAM_BASE_URL: `${from.url}/?rest_api_key=${encodeURIComponent(testKey)}` });
    expect(finished.code).toBe(78);
    await expectNoKey(cwd, finished);
  });

  test('when an output cannot be written', async () => {
    const from = await service();
    const { cwd, finished } = await run(from.env, body.replace('lake/leads.csv', '/dev/null/leads.csv'));
    expect(finished.code).toBe(1);
    await expectNoKey(cwd, finished);
  });

  test('when a gate refuses', async () => {
    const from = await service();
    const { cwd, finished } = await run(from.env, body.replace('steps:', 'steps:\n  - derive: { x: int(firstname) }'));
    expect(finished.code).toBe(65);
    await expectNoKey(cwd, finished);
  });
});

describe('a key that is too short', () => {
  test.each(['e', 'a', 'key-1-7'])('is refused as configuration, in words that can be read: %j', async (key) => {
    const from = await service();
    const { finished } = await run({ ...from.env, LEADSTREAM_REST_API_KEY: key });
    expect(finished.code).toBe(78);
    expect(finished.stderr).toMatch(/^p\.yaml:4:25 the key is shorter than 8 characters, so it cannot be a key; check where it is set\n/);
    expect(from.requests).toEqual([]);
  });

  test('is refused without a service block, and by fetch', async () => {
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: 'e' };
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'p.yaml'), 'name: test\nfrom: leads\nto:\n  - csv: { path: out.csv }\n');
    const validated = await cli(['validate', 'p.yaml'], { cwd, env });
    expect(validated).toMatchObject({ code: 78, stderr: expect.stringContaining('the rest_api_key in the environment is shorter than 8') });
    const fetched = await cli(['fetch', 'leads', '7'], { cwd, env });
    expect(fetched).toMatchObject({ code: 78, stderr: expect.stringContaining('auth: rest_api_key is shorter than 8 characters') });
  });
});

describe('the user id of an account', () => {
  const key = 'key of the pair';
  const text = pipelineText(body).replace(
    'rest_api_key: "${LEADSTREAM_REST_API_KEY}"',
    'authorized_uid: "${UID}", authorized_rest_api_key: "${KEY}"',
  );

  async function runAs(uid: string, options: Parameters<typeof service>[1] = {}) {
    const from = await service(undefined, { accounts: [{ uid, key }], ...options });
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'p.yaml'), text);
    const env = { LEADSTREAM_BASE_URL: from.url, UID: uid, KEY: key };
    const parameters = ['run', 'p.yaml', '--report', 'report.json', '--log-level', 'debug', ...quickly];
    return { cwd, uid, finished: await cli(parameters, { cwd, env }) };
  }

  async function expectNoUid({ cwd, uid, finished }: Awaited<ReturnType<typeof runAs>>): Promise<void> {
    const files = (await readdir(cwd, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const texts = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')));
    for (const seen of [finished.stdout, finished.stderr, ...texts]) expect(seen.includes(uid)).toBe(false);
  }

  test('is told nowhere, when all goes well', async () => {
    const ran = await runAs('uid-7f3a9c');
    expect(ran.finished.code).toBe(0);
    await expectNoUid(ran);
  });

  test.each(['500', 'hang', 'redirect=http://127.0.0.1:9', 'html'])('is told nowhere after the fault %s', async (fault) => {
    const ran = await runAs('uid-7f3a9c', { faults: [fault] });
    expect(ran.finished.code).toBe(69);
    await expectNoUid(ran);
  });

  test('may be a digit, which messages keep', async () => {
    const { finished } = await runAs('5', { faults: ['555'] });
    expect(finished.stderr).toMatch(/\/api\/\w+ page 1: HTTP 555 \(after 2 attempts\)/);
  });
});

describe('a field that is called after the key', () => {
  const hmacKey = 'hmac-key-of-the-test';
  const named = (name: string) => ({
    uid: '1',
    email: testKey,
    affid: '',
    [name]: 'x',
    [encodeURIComponent(testKey)]: 'y',
    [hmacKey]: 'z',
  });

  test.each(['csv: { path: lake/users.csv }', 'ndjson: { path: lake/users.ndjson }', 'parquet: { path: lake/users }', 'stdout: {}'])(
    'has another name in everything that %s leaves, and rows keep their values',
    async (sink) => {
      const from = await serviceOf({ users: [named(testKey), named(testKey)] });
      const env = { ...from.env, LEADSTREAM_HMAC_KEY: hmacKey };
      const text = `from: users\nsteps:\n  - mask: { email: drop }\nto:\n  - ${sink}`;
      const { cwd, finished } = await run(env, text, ['--log-level', 'debug', '--log-format', 'json']);
      expect(finished.code).toBe(0);
      await expectNoKey(cwd, finished);
      expect(`${finished.stdout}${finished.stderr}`).not.toContain(hmacKey);
      const report = JSON.parse(await readFile(join(cwd, 'report.json'), 'utf8')) as { findings: object; warnings: object };
      expect(report.findings).toMatchObject({ unknown: { '[redacted]': 2, '[redacted] 2': 2, '[redacted] 3': 2 } });
      // A second run finds the columns where the first one left them.
      expect((await cli(['run', 'p.yaml', '--set', 'schema=freeze'], { cwd, env })).code).toBe(0);
    },
  );

  test('leaves the rows alone: a value that is the key stays one', async () => {
    const from = await serviceOf({ users: [named('plain')] });
    const { cwd, finished } = await run(from.env, 'from: users\nto:\n  - csv: { path: users.csv }\n  - stdout: { format: csv }');
    expect(finished.code).toBe(0);
    const csv = `uid,email,affid,plain,[redacted],${hmacKey}\n1,"${testKey.replace('"', '""')}",,x,y,z\n`;
    expect(await readFile(join(cwd, 'users.csv'), 'utf8')).toBe(csv);
    expect(finished.stdout).toBe(csv);
  });

  test('is not told by spooled pages that cannot be read', async () => {
    const { createClient } = await import('../../../src/source/index.js');
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: 'plain-key' } });
    const decode = () => client.reader(collections.users).decode(Buffer.from('[{"plain-key":"1"}]'));
    expect(decode).toThrow('it is an object with the keys [redacted]');
  });
});

describe('another host', () => {
  const servers: ReturnType<typeof createServer>[] = [];
  afterEach(() => servers.splice(0).forEach((server) => server.close()));

  test('is never asked, wherever a redirect points', async () => {
    let asked = 0;
    const other = createServer((_request, response) => {
      asked += 1;
      response.end('[]');
    }).listen(0, '127.0.0.1');
    servers.push(other);
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const from = await service(undefined, {
      responders: [() => ({ kind: 'raw', status: 302, headers: { location: `http://127.0.0.1:${port}/` }, body: '' })],
    });
    expect((await run(from.env)).finished.code).toBe(69);
    expect(asked).toBe(0);
  });
});
