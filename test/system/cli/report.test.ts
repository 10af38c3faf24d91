import { once } from 'node:events';
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { version } from '../../../src/core/index.js';
import { cli, startCli } from '../../support/cli.js';
import { service, testKey } from '../../support/services.js';
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
      exit: 78,
      error: { code: 'E_SPEC_INVALID', message: expect.stringContaining('p.yaml:7:7 '), help: expect.any(String) },
      version,
    });
  });

  test('writes a report when the reader of stdout has had enough', async () => {
    const [from, cwd] = [await service(), await workplace(toStdout)];
    const { process: child, finished } = startCli([...run, '--log-format', 'json'], { cwd, env: from.env });
    if (child.stdout) await once(child.stdout, 'data');
    child.stdout?.destroy();
    const { code, stderr } = await finished;
    expect(code).toBe(0);
    expect(stderr).toContain('"event":"run.closed"');
    expect(stderr).not.toContain('failed');
    expect(await reportIn(cwd)).toMatchObject({ status: 'closed', exit: 0, pipeline: 'test' });
  });

  test.each(['missing/r.json', '/usr'])('refuses %s, which cannot be written, before the first request', async (file) => {
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

describe('--report', () => {
  test.each([
    ['the pipeline file', 'p.yaml'],
    ['the file of --env', 'keys.env'],
    ['an output that was published before', 'out/leads.csv'],
    ['any other file', 'notes.txt'],
  ])('never takes the place of %s', async (_what, path) => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    await writeFile(join(cwd, 'keys.env'), `LEADSTREAM_REST_API_KEY='${testKey}'\n`);
    await writeFile(join(cwd, 'notes.txt'), 'not ours');
    expect(await cli(['run', 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0 });
    const before = await readFile(join(cwd, path), 'utf8');
    const { code, stderr } = await cli(['run', 'p.yaml', '--env', 'keys.env', '--report', path], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--report') });
    expect(await readFile(join(cwd, path), 'utf8')).toBe(before);
  });

  test.each(['out/leads.csv', 'out/leads.csv.rejects.ndjson', 'out/leads.csv/r.json'])(
    'is refused at %s, where the run writes',
    async (path) => {
      const [from, cwd] = [await service(), await workplace(toCsv)];
      const { code, stderr } = await cli(['run', 'p.yaml', '--report', path], { cwd, env: from.env });
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("is where the pipeline 'test' writes, or inside it") });
      expect(from.requests).toEqual([]);
    },
  );

  test('does not wait for the reader of a pipe that has none', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    const { code, stderr } = await cli(['run', 'p.yaml', '--report', 'pipe'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('--report pipe: ENXIO') });
  });
});

test('an output is neither the pipeline file nor that of --env', async () => {
  const [from, cwd] = [await service(), await workplace(toCsv.replace('out/leads.csv', 'p.yaml'))];
  const { code, stderr } = await cli(['run', 'p.yaml'], { cwd, env: from.env });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('the pipeline file p.yaml is where the pipeline') });
});
