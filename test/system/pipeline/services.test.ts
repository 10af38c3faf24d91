import { readFile } from 'node:fs/promises';
import { join as under } from 'node:path';
import { connect, join } from '../../../src/index.js';
import { generate, type Responder } from '../../../src/service/index.js';
import type { Misbehaviour } from '../../support/misbehaviour.js';
import { cli } from '../../support/cli.js';
import { leads, listed, service, serviceOf, testKey } from '../../support/services.js';
import { folderWith, visible } from '../../support/temporary.js';

const keys = { EU_KEY: testKey, US_KEY: 'key-of-the-other-service' };
const each = (name: string, more = '') =>
  `  ${name.toLowerCase()}: { base_url: '\${${name}_URL}', auth: { rest_api_key: '\${${name}_KEY}' }, limit: 100, end_wait: 1ms, retry: { base: 1ms }${more} }\n`;
const defaults = `defaults:\n  services:\n${each('EU')}${each('US')}`.replaceAll(/^ {2}(?=eu|us)/gm, '    ');
const joined = 'from: eu.leads\nsteps:\n  - join: { with: us.users, on: { uid: uid }, select: [email] }\n';
const to = (name: string, from: string) => `---\nname: ${name}\n${from}to:\n  - csv: { path: ${name}.csv }\n`;
const [ofEu, ofUs, ofBoth] = [to('eu', 'from: eu.leads\n'), to('us', 'from: us.users\n'), to('both', joined)];

const source = generate({ leads: 250, users: 250, seed: 7 });

/** @param more How that in the US misbehaves. */
async function two(text: string, more: Partial<Misbehaviour> = {}) {
  const [eu, us] = [await service(source), await service(source, { accounts: [{ restApiKey: keys.US_KEY }], ...more })];
  const cwd = await folderWith({ 'p.yaml': text });
  const run = (command: string, ...words: string[]) =>
    cli([command, 'p.yaml', ...words], { cwd, env: { ...keys, EU_URL: eu.url, US_URL: us.url } });
  return { eu, us, cwd, run };
}

const fileNames = async (cwd: string) =>
  (await visible(cwd)).filter((name) => !name.startsWith('.') && name !== 'p.yaml' && !name.endsWith('.rejects.ndjson'));

describe('a file with several services', () => {
  test('joins lists of two services, and tells them apart in reports, spools and messages', async () => {
    const { eu, us, cwd, run } = await two(`${defaults}${ofBoth}`);
    const { code, stderr } = await run('run', '--report', 'r.json');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(eu.requests.every((request) => request.startsWith('leads'))).toBe(true);
    expect(us.requests.every((request) => request.startsWith('users'))).toBe(true);
    expect(await readFile(under(cwd, 'both.csv'), 'utf8')).toMatch(/,meta,users_email\r?\n/);
    const report = await readFile(under(cwd, 'r.json'), 'utf8');
    expect(JSON.parse(report)).toMatchObject({ read: 250, collection: 'eu.leads', sides: [{ collection: 'us.users' }] });
    for (const key of Object.values(keys)) expect(report + stderr).not.toContain(key);
  });

  test('names the service of each list in explain, and the key that was refused', async () => {
    const { run } = await two(`${defaults}${ofBoth}`, { accounts: [{ restApiKey: 'another-key' }] });
    expect((await run('explain')).stdout).toMatch(/eu\.leads[^]*us\.users/);
    const { code, stderr } = await run('run');
    expect(code).toBe(77);
    expect(stderr).toContain('rest_api_key is from ${EU_KEY} for eu, rest_api_key is from ${US_KEY} for us');
    for (const key of Object.values(keys)) expect(stderr).not.toContain(key);
  });

  test('deletes nothing for want of matches if the joined service has another account by now', async () => {
    let uid = 'of no user';
    const renaming: Responder = async (facts, next) => {
      const answer = await next(facts);
      return answer.kind === 'rows' ? { ...answer, rows: [...answer.rows].map((row) => row.replace(`"${uid}"`, '"0"')) } : answer;
    };
    const merged = joined
      .replace('uid },', 'uid }, type: inner,')
      .replace(/$/, 'to:\n  - parquet: { path: both, mode: merge, on_missing: delete }\n');
    const accounts = [{ restApiKey: keys.US_KEY }, { restApiKey: 'another-key' }];
    const { eu, us, cwd, run } = await two(`${defaults}---\nname: both\n${merged}`, { accounts, responders: [renaming] });
    expect(await run('run')).toMatchObject({ code: 0 });
    uid = (await listed(eu, 'leads'))[0]?.uid ?? '';
    const env = { ...keys, US_KEY: 'another-key', EU_URL: eu.url, US_URL: us.url };
    const { code, stderr } = await cli(['run', 'p.yaml'], { cwd, env });
    expect({ code, stderr }).toMatchObject({ code: 65, stderr: expect.stringContaining('of another service, account or list') });
  });

  test.each<[string, number, string[], Partial<Misbehaviour>]>([
    ['down', 69, ['eu.csv'], { faults: ['503'] }],
    ['slow', 0, ['both.csv', 'eu.csv', 'us.csv'], { faults: ['delay=40'] }],
    ['repeating its pages', 69, ['eu.csv'], { quirks: { 'ignore-page': true } }],
    ['without the rows of a page', 69, ['eu.csv'], { quirks: { 'empty-page': 2 } }],
  ])('publishes what does not need a service that is %s, exits with %i, and leaves nothing half-written', async (_, exit, names, how) => {
    const { cwd, run } = await two(`${defaults}${ofEu}${ofUs}${ofBoth}`, how);
    const { code, stderr } = await run('run');
    expect({ code, names: (await fileNames(cwd)).toSorted(), stderr }).toMatchObject({ code: exit, names });
  });

  test('is tested against a service for each', async () => {
    const rows = "eu.leads: [{ lead_id: '1', uid: '7' }], us.users: [{ uid: '7', email: a@b.example }]";
    const tests = `tests:\n  - name: t\n    given: { ${rows} }\n    expect: { rows: [{ lead_id: '1', users_email: a@b.example }] }\n`;
    const { run } = await two(`${defaults}${ofBoth}${tests}`);
    expect(await run('test')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok/) });
  });

  test('is measured service by service', async () => {
    const { eu, us, run } = await two(`${defaults}${ofBoth}`);
    const { code, stdout } = await run('doctor', '--rate-limit', '1000');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/services:\n {2}eu:[^]*services:\n {2}us:/) });
    expect([eu, us].map(({ requests }) => requests.length > 0)).toEqual([true, true]);
  });
});

test('a program joins streams of two connections', async () => {
  const [eu, us] = [
    await serviceOf({ leads: leads(3, () => ({ uid: '7' })) }),
    await serviceOf({ users: [{ uid: '7', email: 'a@b.example' }] }),
  ];
  const auth = { rest_api_key: testKey };
  await using one = connect({ baseUrl: eu.url, auth });
  await using other = connect({ baseUrl: us.url, auth });
  const emails: unknown[] = [];
  for await (const row of one.leads.pipe(join(other.users, { on: { uid: 'uid' }, as: 'user', select: ['email'] })))
    emails.push(row.user_email);
  expect(emails).toEqual(['a@b.example', 'a@b.example', 'a@b.example']);
});
