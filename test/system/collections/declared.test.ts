import { describe, expect, test } from '@jest/globals';
import { loadPipeline, loadPipelines } from '../../../src/plan/index.js';
import { ownEnv, ownText } from '../../support/odd-server.js';

const right = `    path: /orders
    key: [no]
    paging: { scheme: cursor, next: /paging/next, param: cursor }`;

const env = ownEnv({ url: 'http://127.0.0.1:9' });

/** What a file is refused with, without the place in it. */
async function refusal(text: string): Promise<{ code: string; exit: number; lines: readonly string[] }> {
  try {
    await loadPipeline({ text, file: 'p.yaml' }, { env, baseDir: '/tmp' });
  } catch (failure) {
    const { code, exit, lines } = failure as { code: string; exit: number; lines: readonly string[] };
    return { code, exit, lines: lines.map((line) => line.replace(/^p\.yaml:\d+:\d+ /, '')) };
  }
  throw new Error('nothing was refused');
}

describe('a declared collection is refused before any request', () => {
  test.each([
    ['without a key', right.replace('    key: [no]\n', ''), "'key' is missing"],
    ['with a path of another host', right.replace('/orders', '//other.example/orders'), /^path: must be a path below base_url/],
    ['with a path that climbs', right.replace('/orders', '/a/../../b'), /^path: must be a path below base_url/],
    ['with a credential in its parameters', `${right}\n    query: { api_key: abc }`, /'api_key' is named like a credential/],
    ['with a parameter of paging in its query', `${right}\n    query: { limit: "5" }`, "'limit' is a parameter of paging"],
    ['with the key of the account in its query', `${right}\n    query: { k: "\${LEADSTREAM_REST_API_KEY}" }`, /credential/],
  ])('%s', async (_, declared, message) => {
    const { exit, lines } = await refusal(ownText(declared));
    expect(exit).toBe(78);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  test('under a name that every service has', async () => {
    const { exit, lines } = await refusal(ownText(right).replace('  orders:', '  leads:').replace('from: orders', 'from: leads'));
    expect({ exit, lines }).toEqual({ exit: 78, lines: ["'leads' is a collection that every service has; choose another name"] });
  });
});

test('a name of a collection can be inherited from the defaults of the file', async () => {
  const [service, declared] = ownText(right).split('collections:\n');
  const head = service?.replace('name: own\n', '').replaceAll(/^(?=.)/gm, '  ');
  const inherited = `collections:\n${declared?.split('from:')[0]}`.replaceAll(/^(?=.)/gm, '  ');
  const text = `defaults:\n${head}${inherited}---\nname: a\nfrom: orders\nto: [{ csv: { path: a.csv } }]\n---\nname: b\nfrom: orders\nto: [{ csv: { path: b.csv } }]\n`;
  expect((await loadPipelines({ text, file: 'p.yaml' }, { env, baseDir: '/tmp' })).map(({ plan }) => plan.collection.paths)).toEqual([
    ['/orders'],
    ['/orders'],
  ]);
  await expect(
    loadPipelines({ text: text.replaceAll('key: [no]', 'key: [nu]'), file: 'p.yaml' }, { env, baseDir: '/tmp' }),
  ).rejects.toMatchObject({
    issues: [expect.anything()],
  });
});
