import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { ClosedPipeError, defineSink, loadPipeline, runPipeline } from '../../../src/index.js';
import { cli } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { folderWith, temporaryFolder } from '../../support/temporary.js';
import { token, webhook } from '../../support/webhook.js';

const hooks = 'on_success: { webhook: "${HOOK}" }\non_failure: { webhook: "${HOOK}" }\n';
const toCsv = `${hooks}from: users\nsteps:\n  - limit: 3\nto:\n  - csv: { path: out/users.csv }`;

async function ran(hook: string, body = toCsv, more: Readonly<Record<string, string>> = {}) {
  const [from, cwd] = [await service(), await folderWith({ 'p.yaml': pipelineText(body) })];
  const done = await cli(['run', 'p.yaml', '--report', 'r.json'], { cwd, env: { ...from.env, HOOK: hook, ...more } });
  return { ...done, cwd };
}

describe('on_success and on_failure', () => {
  test('tell a webhook by counts, names and codes alone', async () => {
    const { url, told } = await webhook();
    const { code, stderr } = await ran(url);
    expect(code).toBe(0);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ method: 'POST', path: `/${token}`, type: 'application/json' });
    expect(JSON.parse(told[0]?.body ?? '')).toEqual({
      text: 'test: published, 100 rows read',
      pipeline: 'test',
      run: expect.stringMatching(/^\d{8}T\d{9}Z-[0-9a-f]{8}$/),
      status: 'published',
      exit: 0,
      started_at: expect.stringMatching(/^\d{4}-.*Z$/),
      duration_seconds: expect.any(Number),
      rows: { read: 100, written: { 'to[0] csv': 3 } },
      warnings: ['W_RUN_PARTIAL'],
      version: expect.any(String),
    });
    expect(stderr).not.toContain(token);
  });

  test('tell of a failure by its code', async () => {
    const { url, told } = await webhook();
    expect(await ran(url, `${toCsv}\nexpect: { accepted_values: { uid: ["nobody"] } }`)).toMatchObject({ code: 65 });
    expect(told.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      expect.objectContaining({
        status: 'failed',
        exit: 65,
        error: 'E_GATE_EXPECT',
        text: 'test: failed, E_GATE_EXPECT (exit 65)',
        rows: { read: 100, written: {} },
      }),
    ]);
  });

  test('try once more when the webhook is busy, and no more than that', async () => {
    const busy = await webhook([503, 200]);
    expect((await ran(busy.url)).stderr).not.toContain('W_RUN_HOOK');
    expect(busy.told).toHaveLength(2);
    const broken = await webhook([500]);
    const { code, stderr } = await ran(broken.url);
    expect(broken.told).toHaveLength(2);
    expect(code).toBe(0);
    expect(stderr).toContain(`W_RUN_HOOK: on_success: the webhook at 127.0.0.1:${broken.port}: HTTP 500`);
  });

  test.each([
    [302, 'HTTP 302: a redirect, which is never followed', 1],
    ['cut', 'no connection', 2],
  ] as const)('warn of %s without the address, and leave outputs and exit code alone', async (answer, said, times) => {
    const { url, told, port } = await webhook([answer]);
    const { code, stderr, cwd } = await ran(url);
    expect({ code, told: told.length, files: await readdir(join(cwd, 'out')) }).toMatchObject({ code: 0, told: times });
    expect(stderr).toContain(`W_RUN_HOOK: on_success: the webhook at 127.0.0.1:${port}: ${said}`);
    expect(stderr).not.toContain('hook-token');
    expect(told.every(({ path }) => path === `/${token}`)).toBe(true);
  });

  test('take the proxy of the environment, and none for hosts of NO_PROXY', async () => {
    const proxy = await webhook();
    const { code } = await ran('http://hooks.example/secret-path-of-a-hook', toCsv, {
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
      NO_PROXY: '127.0.0.1',
    });
    expect(code).toBe(0);
    expect(proxy.told.map(({ path }) => path)).toEqual(['http://hooks.example/secret-path-of-a-hook']);
  });

  test('are addresses, which nothing repeats where they are none, and may be in the defaults of a file', async () => {
    const cwd = await folderWith({
      'p.yaml': pipelineText(toCsv),
      'defaults.yaml': `defaults:\n  on_failure: { webhook: "\${HOOK}" }\n---\n${pipelineText('from: users\nto:\n  - csv: { path: a.csv }')}`,
    });
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'key-of-a-test' };
    const checked = (file: string, hook: string) => cli(['validate', file, '--env-check'], { cwd, env: { ...env, HOOK: hook } });
    const wrong = await checked('p.yaml', 'hooks.example/secret-token');
    expect(wrong.stderr).toContain('webhook: must be an http or https URL');
    expect(wrong.stderr).not.toContain('secret-token');
    expect(await checked('defaults.yaml', 'https://hooks.example/secret-token')).toMatchObject({ code: 0 });
    expect(await cli(['validate', 'p.yaml'], { cwd })).toMatchObject({ code: 0 });
  });

  test('tell that a reader left a run that does more than print', async () => {
    const { url, told } = await webhook();
    const from = await service();
    const quiet = defineSink('quiet', {
      options: z.strictObject({}),
      open: () => ({ write: () => {}, commit: () => {}, abort: () => {} }),
    });
    const leaving = async (sinks: string) => {
      const given = { text: pipelineText(`${hooks}from: users\nto: [${sinks}]`), file: 'p.yaml' };
      const cwd = await temporaryFolder();
      const pipeline = await loadPipeline(given, { env: { ...from.env, HOOK: url }, cwd, sinks: [quiet] });
      const stdout = new PassThrough();
      stdout.destroy(Object.assign(new Error('closed'), { code: 'EPIPE' }));
      stdout.on('error', () => {});
      await expect(runPipeline(pipeline, { stdout })).rejects.toBeInstanceOf(ClosedPipeError);
      return told.length;
    };
    expect(await leaving('{ stdout: {} }')).toBe(0);
    expect(await leaving('{ stdout: {} }, { quiet: {} }')).toBe(1);
  });

  test('keep a run that was stopped two seconds at most, and are tried once', async () => {
    const stop = new AbortController();
    const { url, told } = await webhook(['hang']);
    const from = await service(undefined, { onRequest: () => stop.abort() });
    const cwd = await folderWith({ 'p.yaml': pipelineText(toCsv) });
    const pipeline = await loadPipeline('p.yaml', { cwd, env: { ...from.env, HOOK: url } });
    const warned: string[] = [];
    const watch = { warning: ({ message }: { readonly message: string }) => void warned.push(message) };
    const start = Date.now();
    await runPipeline(pipeline, { signal: stop.signal, watch }).catch(() => undefined);
    expect(Date.now() - start).toBeLessThan(4_000);
    expect(told).toHaveLength(1);
    expect(warned).toContainEqual(expect.stringContaining('on_failure: the webhook at'));
  });
});
