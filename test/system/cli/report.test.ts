import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { cli, startCli } from '../../support/cli.js';
import { service } from '../../support/services.js';
import { visible } from '../../support/temporary.js';
import { toCsv, toStdout, workplace } from './support.js';

const run = ['run', 'p.yaml', '--report', 'r.json'];

async function reportIn(cwd: string): Promise<unknown> {
  return JSON.parse(await readFile(join(cwd, 'r.json'), 'utf8'));
}

describe('leadstream run --report', () => {
  test('writes a report of success and of failure', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    await cli(run, { cwd, env: from.env });
    expect(await reportIn(cwd)).toMatchObject({ status: 'published', read: 1_200 });
    await cli(run, { cwd, env: { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' } });
    expect(await reportIn(cwd)).toMatchObject({ status: 'failed', error: { code: 'E_SOURCE_AUTH' } });
  });

  test('writes a report of a wrong pipeline file', async () => {
    const cwd = await workplace('from: leeds\nto:\n  - stdout: {}');
    expect(
      (await cli(run, { cwd, env: { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'key-of-the-test' } })).code,
    ).toBe(78);
    expect(await reportIn(cwd)).toEqual({
      status: 'failed',
      error: { code: 'E_SPEC_INVALID', message: expect.stringContaining('p.yaml:7:7 ') },
    });
  });

  test('writes a report when the reader of stdout has had enough', async () => {
    const [from, cwd] = [await service(), await workplace(toStdout)];
    const { process: child, finished } = startCli(run, { cwd, env: from.env });
    if (child.stdout) await once(child.stdout, 'data');
    child.stdout?.destroy();
    expect((await finished).code).toBe(0);
    expect(await reportIn(cwd)).toMatchObject({ status: 'closed', pipeline: 'test', error: { code: 'E_SINK_WRITE' } });
  });

  test.each(['missing/r.json', '.'])('refuses %s, which cannot be written, before the first request', async (file) => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    const { code, stderr } = await cli(['run', 'p.yaml', '--report', file], { cwd, env: from.env });
    expect(code).toBe(1);
    expect(stderr).toContain(`E_SINK_PATH: --report ${file}: `);
    expect(from.requests).toEqual([]);
  });

  test('only warns when it cannot be written after publishing', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    const { code, stderr } = await cli(['run', 'p.yaml', '--report', '/dev/full'], { cwd, env: from.env });
    expect(code).toBe(0);
    expect(stderr).toContain('the report was not written: --report /dev/full: ENOSPC');
    expect(await visible(join(cwd, 'out'))).toContain('leads.csv');
  });

  test('does not hide a failure behind its own', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    const env = { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' };
    const { code, stderr } = await cli(['run', 'p.yaml', '--report', '/dev/full'], { cwd, env });
    expect(code).toBe(77);
    expect(stderr).toContain('E_SOURCE_AUTH');
  });
});
