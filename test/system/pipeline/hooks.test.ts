import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { loadPipeline, runPipeline, type RunEnd } from '../../../src/index.js';
import { certificate, certifiedKey } from '../../support/certificates.js';
import { cli } from '../../support/cli.js';
import { failure, type Responder } from '../../../src/service/answer.js';
import { pipelineText, service } from '../../support/services.js';
import { folderWith } from '../../support/temporary.js';
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

  test('are no part of the run, whose end and length are the same wherever they are told', async () => {
    const { url, told } = await webhook(['late']);
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': pipelineText(toCsv) })];
    const words = ['run', 'p.yaml', '--report', 'r.json', '--metrics', 'm.prom'];
    expect(await cli(words, { cwd, env: { ...from.env, HOOK: url } })).toMatchObject({ code: 0 });
    const { startedAt, finishedAt } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
    // It ended before it was told, by clocks that round differently.
    expect(Date.parse(finishedAt)).toBeLessThanOrEqual((told[0]?.at ?? 0) + 50);
    const metric = (name: string) => Number(new RegExp(`^${name}\\{.*\\} (.*)$`, 'm').exec(readFileSync(join(cwd, 'm.prom'), 'utf8'))?.[1]);
    expect(metric('leadstream_run_last_success_timestamp_seconds')).toBe(Date.parse(finishedAt) / 1000);
    const seconds = (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000;
    expect(metric('leadstream_run_duration_seconds')).toBeCloseTo(seconds, 3);
  });

  test('tell of a failure by its code', async () => {
    const { url, told } = await webhook();
    const { code } = await ran(url, `${toCsv}\nexpect: { accepted_values: { uid: ["nobody"] } }`);
    expect(code).toBe(65);
    expect(told.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      expect.objectContaining({
        status: 'failed',
        exit: 65,
        error: 'E_GATE_EXPECT',
        text: 'test: failed, E_GATE_EXPECT (exit 65)',
        rows: { read: 100, written: {} },
      }),
    ]);
    expect(Object.keys(JSON.parse(told[0]?.body ?? '') as object).toSorted()).toEqual(
      ['duration_seconds', 'error', 'exit', 'pipeline', 'rows', 'run', 'started_at', 'status', 'text', 'version', 'warnings'].toSorted(),
    );
  });

  test('tell of a file that could not be loaded, by the names of its pipelines, as far as the address is known', async () => {
    const { url, told } = await webhook();
    const wrong = await ran(url, toCsv.replace('limit: 3', 'limit: 0'));
    expect(wrong).toMatchObject({ code: 78, stderr: expect.not.stringContaining(token) });
    expect(told.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        text: 'test: failed, E_SPEC_INVALID (exit 78)',
        pipeline: 'test',
        status: 'failed',
        exit: 78,
        error: 'E_SPEC_INVALID',
        started_at: expect.any(String),
        duration_seconds: 0,
        rows: { read: 0, written: {} },
        warnings: [],
        version: expect.any(String),
      },
    ]);
    // Nobody knows whom to tell by then, and what stands in the file in place of a reference is no address.
    expect((await ran('', toCsv.replace('limit: 3', 'limit: 0'))).code).toBe(78);
    expect((await ran(url, toCsv.replace('limit: 3', 'limit: 0').replaceAll('${HOOK}', url))).code).toBe(78);
    expect((await ran(url, `${toCsv}: [`)).code).toBe(78);
    expect(told).toHaveLength(1);
  });

  test('tell of such a file among others, of those pipelines that were to run, when report and metrics do, and go on', async () => {
    const inFiles: string[] = [];
    const { url, told } = await webhook(
      [200],
      createServer().on('request', () => void inFiles.push(...['r.json', 'm.prom'].map((name) => readFileSync(join(cwd, name), 'utf8')))),
    );
    const from = await service();
    const wrong = pipelineText(toCsv.replace('limit: 3', 'limit: 0'));
    const cwd = await folderWith({
      '1.yaml': `${wrong}\n---\n${wrong.replaceAll('test', 'other').replaceAll('out/users', 'out/others')}`,
      '2.yaml': pipelineText('from: users\nto:\n  - csv: { path: out/second.csv }').replace('name: test', 'name: second'),
    });
    const only = ['--only', 'other', '--only', 'second', '--report', 'r.json', '--metrics', 'm.prom'];
    const { code } = await cli(['run', '*.yaml', ...only], { cwd, env: { ...from.env, HOOK: url } });
    expect(code).toBe(78);
    expect(inFiles).toEqual([
      expect.stringContaining('"code": "E_SPEC_INVALID"'),
      expect.stringContaining('leadstream_run_exit_code{pipeline="other"} 78'),
    ]);
    expect(told.map(({ body }) => (JSON.parse(body) as { pipeline: string }).pipeline)).toEqual(['other']);
    expect(await readdir(join(cwd, 'out'))).toContain('second.csv');
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
    [404, 'HTTP 404', 1],
    ['cut', 'no connection', 2],
  ] as const)('warn of %s without a word of the address, and leave outputs and exit code alone', async (answer, said, times) => {
    const { url, told, port } = await webhook([answer]);
    const { code, stderr, cwd } = await ran(url);
    expect({ code, told: told.length, files: await readdir(join(cwd, 'out')) }).toMatchObject({ code: 0, told: times });
    expect(stderr).toContain(`W_RUN_HOOK: on_success: the webhook at 127.0.0.1:${port}: ${said}`);
    expect(stderr).not.toContain('hook-token');
    expect(told.every(({ path }) => path === `/${token}`)).toBe(true);
  });

  test('warn of a certificate that nobody trusts, and of a host that is not there', async () => {
    const secure = await webhook([200], createTlsServer({ key: certifiedKey, cert: certificate }));
    expect((await ran(secure.url)).stderr).toMatch(/W_RUN_HOOK: .* the certificate is not accepted/);
    expect(secure.told).toEqual([]);
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    await new Promise((closed) => gone.close(closed));
    const { code, stderr } = await ran(`http://127.0.0.1:${port}/${token}`);
    expect(code).toBe(0);
    expect(stderr).toMatch(/W_RUN_HOOK: .* no connection \(ECONNREFUSED/);
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

  test('are heard by programs, and what went wrong is among the warnings of the report', async () => {
    const { url } = await webhook([404]);
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': pipelineText(toCsv) })];
    const pipeline = await loadPipeline('p.yaml', { cwd, env: { ...from.env, HOOK: url } });
    const { warnings } = await runPipeline(pipeline);
    expect(warnings.map(({ code }) => code)).toContain('W_RUN_HOOK');
  });

  test('are references to what is no literal, and are secret', async () => {
    const cwd = await folderWith({
      'literal.yaml': pipelineText(toCsv.replaceAll('${HOOK}', 'https://hooks.example/literal-token-in-a-file')),
      'no-url.yaml': pipelineText(toCsv),
      'leak.yaml': pipelineText(toCsv.replace('out/users.csv', '"${HOOK}.csv"')),
      'defaults.yaml': `defaults:\n  on_failure: { webhook: "\${HOOK}" }\n---\n${pipelineText('from: users\nto:\n  - csv: { path: a.csv }')}`,
    });
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'key-of-a-test' };
    const checked = (file: string, hook: string) => cli(['validate', file, '--env-check'], { cwd, env: { ...env, HOOK: hook } });
    const literal = await checked('literal.yaml', '');
    expect(literal.stderr).toContain('a credential must be a reference');
    expect(literal.stderr).not.toContain('literal-token');
    const wrong = await checked('no-url.yaml', 'hooks.example/secret-token');
    expect(wrong.stderr).toContain('webhook: must be an http or https URL');
    expect(wrong.stderr).not.toContain('secret-token');
    expect((await checked('leak.yaml', 'https://hooks.example/secret-token')).stderr).toContain('the variable HOOK holds a credential');
    expect(await checked('defaults.yaml', 'https://hooks.example/secret-token')).toMatchObject({ code: 0 });
    expect(await cli(['validate', 'no-url.yaml'], { cwd })).toMatchObject({ code: 0 });
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

  test.each([
    ['published', 0, false],
    ['failed', 130, true],
  ] as const)('find the report and the metrics in place when they tell that a run has %s', async (status, exit, isStopped) => {
    const stop = new AbortController();
    const cwd = await folderWith({
      'p.yaml': pipelineText(toCsv),
      'q.yaml': pipelineText(toCsv.replace('out/', 'q/')).replace('test', 'q'),
    });
    const found: unknown[] = [];
    const { url, told } = await webhook(
      [200],
      createServer().on('request', () => {
        const report: { pipelines: unknown[] } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
        found.push([report, readFileSync(join(cwd, 'm.prom'), 'utf8')]);
      }),
    );
    const from = await service(undefined, { onRequest: () => void (isStopped && stop.abort()) });
    const env = { ...from.env, HOOK: url };
    const options = ['--report', 'r.json', '--metrics', 'm.prom'];
    const { code } = await cli(['run', 'p.yaml', 'q.yaml', ...options], { cwd, env, signal: stop.signal });
    expect([code, told.length]).toEqual([exit, isStopped ? 1 : 2]);
    expect(found[0]).toEqual([
      expect.objectContaining({
        // While a pipeline is left, that is no success.
        exit: exit || 1,
        pipelines: [
          expect.objectContaining({ pipeline: 'test', status, exit, read: expect.any(Number) }),
          { pipeline: 'q', status: 'not_run', version: expect.any(String) },
        ],
      }),
      expect.stringMatching(new RegExp(`^leadstream_run_exit_code\\{pipeline="test"\\} ${exit}$`, 'm')),
    ]);
    const single = await cli(['run', 'p.yaml', ...options, '--allow-partial'], { cwd, env });
    expect([single.code, found.at(-1)]).toEqual([
      0,
      [expect.objectContaining({ status: 'published', pipeline: 'test' }), expect.anything()],
    ]);
  });

  test('find the exit code of the command in the report of a series, where what stops it weighs more than what failed before', async () => {
    const body = 'from: users\nto:\n  - csv: { path: p.csv }\nexpect: { min_rows: 100000 }';
    const cwd = await folderWith({
      'p.yaml': pipelineText(body),
      'q.yaml': pipelineText(toCsv.replace('users', 'bridges')).replace('test', 'q'),
    });
    const found: unknown[] = [];
    const inReport = () => (JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')) as { readonly exit: unknown }).exit;
    const { url } = await webhook(
      [200],
      createServer().on('request', () => void found.push(inReport())),
    );
    const denied: Responder = (facts, next) => (facts.collection === 'bridges' ? failure(401, 'no') : next(facts));
    const from = await service(undefined, { responders: [denied] });
    const { code } = await cli(['run', 'p.yaml', 'q.yaml', '--report', 'r.json'], { cwd, env: { ...from.env, HOOK: url } });
    expect([code, found, inReport()]).toEqual([77, [77], 77]);
  });

  test('come after what a program does when a run has ended, whose failure is a warning', async () => {
    const { url, told } = await webhook();
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': pipelineText(toCsv) })];
    const pipeline = await loadPipeline('p.yaml', { cwd, env: { ...from.env, HOOK: url } });
    const ended = (end: RunEnd) => {
      expect([told, end]).toEqual([[], { report: expect.objectContaining({ read: 100 }) }]);
      throw new Error('no room');
    };
    const { warnings } = await runPipeline(pipeline, { ended });
    expect(told).toHaveLength(1);
    expect(warnings).toContainEqual({ code: 'W_RUN_HOOK', message: 'ended: no room' });
  });

  test('change neither the fingerprint of a pipeline nor its tests and previews', async () => {
    const { url, told } = await webhook();
    const tests = '\ntests:\n  - name: a\n    given: { users: [{ uid: 1 }] }\n    expect: { rows: [{ uid: 1 }] }';
    const from = await service();
    const cwd = await folderWith({ 'p.yaml': pipelineText(toCsv + tests), 'q.yaml': pipelineText(toCsv.replace(hooks, '')) });
    const env = { ...from.env, HOOK: url };
    expect(await cli(['test', 'p.yaml'], { cwd, env })).toMatchObject({ code: 0 });
    expect(await cli(['preview', 'p.yaml'], { cwd, env })).toMatchObject({ code: 0 });
    expect(told).toEqual([]);
    const [p, q] = [await loadPipeline('p.yaml', { cwd, env }), await loadPipeline('q.yaml', { cwd, env })];
    expect(p.fingerprint).toBe(q.fingerprint);
  });
});
