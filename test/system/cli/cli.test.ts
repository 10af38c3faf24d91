import { once } from 'node:events';
import { readFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Responder } from '../../../src/service/index.js';
import { startCli } from '../../support/cli.js';
import { service, toCsv, workplace } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

describe('leadstream run', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGHUP', 129],
    ['SIGTERM', 143],
  ] as const)('publishes nothing after %s, exits with %i, and says so wherever it says how it ended', async (signal, expected) => {
    const from = await service(undefined, { responders: [slow] });
    const cwd = await workplace(toCsv);
    const files = ['--report', 'r.json', '--metrics', 'm.prom'];
    const { process: child, finished } = startCli(['run', 'p.yaml', ...files, '--log-format', 'json'], { cwd, env: from.env });
    await from.until(({ length }) => length >= 3);
    child.kill(signal);
    const { code, stderr } = await finished;
    expect(code).toBe(expected);
    expect(await visible(cwd)).toEqual(['m.prom', 'p.yaml', 'r.json']);
    const told = `${stderr}${await readFile(join(cwd, 'r.json'), 'utf8')}${await readFile(join(cwd, 'm.prom'), 'utf8')}`;
    const exits = [...told.matchAll(/(?:"exit": ?|exit_code\S* )(\d+)/g)].map(([, exit]) => Number(exit));
    // An event of the run and one of the command, the report, and the metrics of both.
    expect(exits).toEqual([expected, expected, expected, expected, expected]);
  });

  test('leaves no file under a final name when it is killed', async () => {
    const from = await service(undefined, { responders: [slow] });
    const cwd = await workplace('from: leads\nto:\n  - csv: { path: out/leads.csv }\n  - parquet: { path: out/leads }');
    const { process: child, finished } = startCli(['run', 'p.yaml'], { cwd, env: from.env });
    await from.until(({ length }) => length >= 3);
    child.kill('SIGKILL');
    await finished;
    const names = await readdir(join(cwd, 'out'), { recursive: true });
    expect(names.filter((name) => /\.(?:csv|ndjson|parquet)$/.test(name) || name === 'leads')).toEqual([]);
  });
});

test('leadstream serve prints its URL, serves a folder of files and says what they have, and on SIGTERM ends with the answers in flight', async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, 'data'));
  await writeFile(join(cwd, 'data', 'users.csv'), 'uid,email,affid\n007,a@example.org,1\n');
  const { process: child, finished } = startCli(['serve', '--port', '0', '--data', 'data', '--fault', 'delay=1000@page=2'], {
    cwd,
    env: { LEADSTREAM_REST_API_KEY: 'key-of-the-test' },
  });
  if (!child.stdout) throw new Error('no stdout');
  const [url] = (await once(child.stdout, 'data')) as [string];
  const answer = await fetch(`${url.trim()}/api/users/007?rest_api_key=key-of-the-test`);
  expect(await answer.json()).toEqual([{ uid: '007', email: 'a@example.org', affid: '1' }]);
  const slow = get(`${url.trim()}/api/users?page=2&limit=1&rest_api_key=key-of-the-test`, { headers: { expect: '100-continue' } });
  const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
  await once(slow, 'continue'); // the service has the request
  child.kill('SIGTERM');
  const [response] = await answered;
  expect([response.statusCode, await text(response)]).toEqual([200, '[]']);
  expect(await finished).toMatchObject({ code: 0, stderr: expect.stringContaining('users: 1 row of users.csv, 3 fields\n') });
});

/** Lets every page take a while, so that a signal comes in the middle. */
const slow: Responder = async (facts, next) => {
  await new Promise((resolve) => setTimeout(resolve, 150));
  return next(facts);
};
