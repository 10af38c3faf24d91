import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { start } from '../support/cli.js';
import { service } from '../support/services.js';
import { generate } from '../../src/service/index.js';
import { temporaryFolder } from '../support/temporary.js';

test('first-thousand.ts prints a thousand joined leads and asks for no page that it does not need', async () => {
  const from = await service(generate({ leads: 50_000, seed: 7 }));
  const tsx = join('node_modules', 'tsx', 'dist', 'cli.mjs');
  const { finished } = start(process.execPath, [tsx, join('examples', 'first-thousand.ts')], {
    cwd: process.cwd(),
    env: { ...from.env, TMPDIR: await temporaryFolder() },
  });
  const { code, stdout, stderr } = await finished;
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('1000 leads') });
  const lines = stdout.trim().split('\n');
  expect(lines).toHaveLength(1_000);
  expect(lines.every((line) => /^\d+\t.+$/.test(line))).toBe(true);
  const pages = from.requests.filter((request) => request.startsWith('leads?')).length;
  expect(pages).toBeLessThan(40);
});
