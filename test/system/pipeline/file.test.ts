import { execFileSync, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SpecError } from '../../../src/core/errors.js';
import { loadPipeline, loadPipelines } from '../../../src/plan/index.js';
import { pipelineText } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const env = { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
const to = 'to:\n  - csv: { path: out.csv }';

async function problems(text: string, environment: Record<string, string> = env, set: Record<string, string> = {}): Promise<SpecError> {
  try {
    await loadPipeline({ text, file: 'p.yaml' }, { env: environment, set });
  } catch (error) {
    if (error instanceof SpecError) return error;
    throw error;
  }
  throw new Error('the file was accepted');
}

describe('a key of the environment', () => {
  const messagesWith = async (key: string | undefined) => {
    const env = { LEADSTREAM_BASE_URL: 'https://data.example', ...(key === undefined ? {} : { LEADSTREAM_REST_API_KEY: key }) };
    return (await problems(pipelineText(`from: leads\n${to}`), env)).issues.map(({ message }) => message);
  };

  test.each([
    [undefined, 'the environment variable LEADSTREAM_REST_API_KEY is not set'],
    [' key-of-the-test', 'the key has white space or a line break around it; check where it is set'],
    ['key-of-the-test\n', 'the key has white space or a line break around it; check where it is set'],
    ['"key-of-the-test"', 'the key has quotes around it, which the shell or an env file left; check where it is set'],
  ])('that is not set, or has white space or quotes around it, is one problem before it is sent: %j', async (key, message) => {
    expect(await messagesWith(key)).toEqual([message]);
  });
});

const reference = 'needs quotes here: YAML interprets its braces';
const features = 'anchors, aliases, tags and directives are not accepted';
const inFilter = (text: string) => `from: leads\nsteps:\n  - filter: ${text}\n${to}`;

test.each([
  ['to:\n  - csv: { path: out/{{ run.date }}.csv }', '2:22', reference],
  [inFilter('!hunter2'), '3:13', features],
  [inFilter('%hunter2'), '3:13', 'Plain value cannot start with'],
  ['%hunter2 b\n---\nname: a', '1:1', features],
  [inFilter("'a' hunter2"), '3:17', 'Unexpected scalar at node end'],
  [inFilter('"\\hunter2"'), '3:14', 'Invalid escape sequence'],
  ['name: ]hunter2', '1:7', 'Unexpected flow-seq-end token'],
])('a pipeline file is refused with the place of its first problem as YAML, and no value of the file: %j', async (text, place, message) => {
  const error = await problems(text);
  expect(error).toMatchObject({ code: 'E_SPEC_YAML', message: expect.stringContaining(`p.yaml:${place} `) });
  expect(error.message).toContain(message);
  expect(error.message).not.toContain('hunter2');
});

describe('references', () => {
  const withName = (reference: string) => pipelineText(`from: leads\nto:\n  - csv: { path: "${reference}" }`);

  test.each([
    ['${OUT}', 'made'],
    ['${MISSING:-fallback}', 'fallback'],
    ['a/${OUT}/$${OUT}', 'a/made/${OUT}'],
  ])('resolve %s to %s', async (reference, expected) => {
    const pipeline = await loadPipeline({ text: withName(reference), file: 'p.yaml' }, { env: { ...env, OUT: 'made' }, baseDir: '/base' });
    expect(pipeline.plan.sinks[0]?.output).toBe(`/base/${expected}`);
  });

  test.each([
    ['${MISSING:?say where}', '${MISSING}: say where'],
    ['${file:/nowhere/at/all}', 'the file /nowhere/at/all cannot be read'],
  ])('are refused when they are wrong: %s', async (reference, message) => {
    expect((await problems(withName(reference))).message).toContain(message);
  });

  test('read a file without its last line end', async () => {
    const file = join(await temporaryFolder(), 'key');
    await writeFile(file, 'from-a-file\n');
    const text = pipelineText(`from: leads\n${to}`).replace('${LEADSTREAM_REST_API_KEY}', `\${file:${file}}`);
    expect((await loadPipeline({ text, file: 'p.yaml' }, { env })).connection.auth).toEqual({ rest_api_key: 'from-a-file' });
  });

  test('give a key that wants a number its number', async () => {
    const text = pipelineText(`from: leads\n${to}`).replace('limit: 100', 'limit: ${LIMIT}');
    expect((await loadPipeline({ text, file: 'p.yaml' }, { env: { ...env, LIMIT: '42' } })).connection.limit).toBe(42);
  });
});

describe('a credential', () => {
  const key = 'k"ey-of-its-own';
  const keys = {
    ...env,
    MY_KEY: key,
    COPY: `x${key}`,
    MY_UID: '4711',
    LEADSTREAM_HMAC_KEY: 'hmac-key-of-the-test',
  };
  const withAuth = (auth: string, body = `from: leads\n${to}`) =>
    pipelineText(body).replace('rest_api_key: "${LEADSTREAM_REST_API_KEY}"', auth);
  const mine = (body?: string) => withAuth('rest_api_key: "${MY_KEY}"', body);

  test('is known by its file too, however the path is written', async () => {
    const file = join(await temporaryFolder(), 'key');
    await writeFile(file, `${key}\n`);
    const text = withAuth(`rest_api_key: "\${file:${file}}"`).replace('name: test', `name: "\${file:${file.replace('/key', '/./key')}}"`);
    expect((await problems(text)).message).toBe(
      `p.yaml:1:7 the file ${file} holds a credential, which is accepted only under service.auth`,
    );
  });

  test.each([
    ['by another variable', 'name: ${COPY}', {}, 'p.yaml:1:7'],
    ['as text', `name: 'my-${key}'`, {}, 'p.yaml:1:7'],
    ['as a name', `name: test\n'${key}': x`, {}, 'p.yaml:2:1'],
    ['by --set', 'name: test', { 'to.0.csv.path': `${key}.csv` }, 'p.yaml:9:18'],
  ])('is found %s and never repeated', async (_how, name, set, place) => {
    const error = await problems(mine().replace('name: test', name), keys, set);
    expect(error.message.split('\n')[0]?.replace('--set to.0.csv.path: ', '')).toBe(
      `${place} this is a credential, which is accepted only under service.auth, as a reference`,
    );
    expect(error.message).not.toContain('ey-of-its-own');
  });

  test('of a catalog is one of the secrets, and no part of the fingerprint', async () => {
    const sink = 'parquet: { table: iceberg, catalog: { uri: "https://catalog.example", name: a.leads, credential: "${CATALOG}" } }';
    const load = (secret: string) => {
      return loadPipeline({ text: mine(`from: leads\nto:\n  - ${sink}`), file: 'p.yaml' }, { env: { ...keys, CATALOG: `id:${secret}` } });
    };
    const [one, other] = [await load('the-first-secret'), await load('the-other-secret')];
    expect(one.secrets).toEqual(expect.arrayContaining(['id:the-first-secret', 'the-first-secret']));
    expect(one.fingerprint).toBe(other.fingerprint);
  });

  test('may come from something that can be read once', async () => {
    const fifo = join(await temporaryFolder(), 'fifo');
    execFileSync('mkfifo', [fifo]);
    const writer = spawn('sh', ['-c', 'printf once-only-key > "$0"; printf another-key > "$0"', fifo]);
    const text = `${withAuth(`rest_api_key: "\${file:${fifo}}"`)}\n---\n${withAuth(`rest_api_key: "\${file:${fifo}}"`, 'from: users\nto:\n  - csv: { path: u.csv }').replace('test', 'second')}`;
    const [first, second] = await loadPipelines({ text, file: 'p.yaml' }, { env });
    writer.kill();
    expect(first?.connection.auth).toEqual({ rest_api_key: expect.stringMatching(/^once-only-key/) });
    expect(second?.connection.auth).toEqual(first?.connection.auth);
  });
});

describe('the environment', () => {
  const bare = `name: bare\nfrom: users\n${to}`;

  test('serves when there is no service block', async () => {
    expect((await loadPipeline({ text: bare, file: 'p.yaml' }, { env })).connection).toEqual({
      baseUrl: 'https://data.example',
      auth: { rest_api_key: 'key-of-the-test' },
      proxy: false,
    });
  });

  test('may name the account by its pair', async () => {
    const pair = {
      LEADSTREAM_BASE_URL: 'https://data.example',
      LEADSTREAM_AUTHORIZED_UID: '7',
      LEADSTREAM_AUTHORIZED_REST_API_KEY: 'key-of-the-test',
    };
    expect((await loadPipeline({ text: bare, file: 'p.yaml' }, { env: pair })).connection.auth).toEqual({
      authorized_uid: '7',
      authorized_rest_api_key: 'key-of-the-test',
    });
  });
});

describe('--set', () => {
  test('takes the place of a value of the file', async () => {
    const pipeline = await loadPipeline(
      { text: pipelineText(`from: leads\n${to}`), file: 'p.yaml' },
      { env, set: { 'service.limit': '7', 'to.0.csv.path': 'b.csv' }, baseDir: '/x' },
    );
    expect(pipeline.connection.limit).toBe(7);
    expect(pipeline.plan.sinks[0]?.output).toBe('/x/b.csv');
  });

  test('makes the list of a first entry, and adds to one that is there', async () => {
    const set = { 'steps.0.select.0': 'lead_id', 'to.1.ndjson.path': 'b' };
    const { plan } = await loadPipeline({ text: pipelineText(`from: leads\n${to}`), file: 'p.yaml' }, { env, set });
    expect([...plan.steps, ...plan.sinks].map(({ at }) => at)).toEqual(['steps[0] select', 'to[0] csv', 'to[1] ndjson']);
  });

  test.each([
    ['limit', '5', "--set limit: unknown key 'limit'"],
    ['from', 'lead', "--set from: unknown collection 'lead'"],
    ['from.x', 'y', '--set from.x: the file has no such place'],
  ])('is refused as what the command line says: %s=%s', async (key, value, message) => {
    const error = await problems(pipelineText(`from: leads\n${to}`), env, { [key]: value });
    expect(error.message).toContain(message);
    expect(error.issues).toHaveLength(1);
  });

  test.each(['service.auth.rest_api_key', 'service'])('refuses %s, because a command line is no place for keys', async (key) => {
    const { message } = await problems(pipelineText(`from: leads\n${to}`), env, { [key]: 'x' });
    expect(message).toContain('not accepted on the command line');
  });
});
