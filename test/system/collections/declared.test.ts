import { loadPipelines } from '../../../src/plan/index.js';
import { ownEnv, ownText } from '../../support/odd-server.js';

const right = `    path: /orders
    key: [no]
    paging: { scheme: cursor, next: /paging/next, param: cursor }`;

const env = ownEnv({ url: 'http://127.0.0.1:9' });

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
  ).rejects.toMatchObject({ issues: [expect.anything()] });
});
