import { expect, test } from '@jest/globals';
import type { Diagnosis } from '../../../src/index.js';
import { generate } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import { service, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const source = generate({ leads: 120, bridges: 5, links: 5, users: 5, seed: 7 });

test('doctor tells each of its requests under --log-level debug, without credentials', async () => {
  const from = await service(source, { faults: ['503@page=1,times=1'] });
  const options = ['--collection', 'leads', '--rate-limit', '1000', '--format', 'json', '--log-level', 'debug', '--log-format', 'json'];
  const { code, stdout, stderr } = await cli(['doctor', ...options], { cwd: await temporaryFolder(), env: from.env });
  expect(code).toBe(0);
  const { requests }: Diagnosis = JSON.parse(stdout);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));
  const told = lines.filter(({ event }) => event === 'request.finished');
  expect(told).toHaveLength(requests);
  expect(told).toContainEqual(
    expect.objectContaining({
      collection: 'leads',
      page: 1,
      purpose: 'probe',
      attempt: 1,
      status: 503,
      bytes: expect.any(Number),
      ms: expect.any(Number),
    }),
  );
  expect(told).toContainEqual(expect.objectContaining({ page: 1, attempt: 2, status: 200 }));
  expect(told).toContainEqual(expect.objectContaining({ url: expect.stringContaining('/api/leads/{id}?rest_api_key=***') }));
  // One tried a key that is wrong on purpose.
  expect(told.filter(({ status }) => status === 401)).toHaveLength(1);
  for (const form of [testKey, encodeURIComponent(testKey), JSON.stringify(testKey).slice(1, -1)]) expect(stderr).not.toContain(form);
});

test('doctor tells of its requests what people read, and nothing without --log-level debug', async () => {
  const from = await service(source);
  const options = ['--collection', 'leads', '--rate-limit', '1000'];
  const cwd = await temporaryFolder();
  const { stderr } = await cli(['doctor', ...options, '--log-level', 'debug'], { cwd, env: from.env });
  expect(stderr).toMatch(
    /^request http:\/\/127\.0\.0\.1:\d+\/api\/leads\?page=1&limit=\d+&rest_api_key=\*\*\*: status 200, \d+ bytes, \d+ ms$/m,
  );
  const quiet = await cli(['doctor', ...options], { cwd, env: from.env });
  expect(quiet.stderr).not.toContain('request http');
});
