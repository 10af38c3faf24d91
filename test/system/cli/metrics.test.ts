import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PipelineDocument } from '../../../src/cli/report/document.js';
import { samplesIn, textOf } from '../../../src/cli/metrics/text.js';
import { cli, startCli } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { folderWith, visible } from '../../support/temporary.js';
import { toCsv, workplace } from './support.js';

const users = (name: string, more = '') =>
  `${pipelineText(`from: users\nsteps:\n  - filter: uid != '1'\nto:\n  - csv: { path: ${name}.csv }`).replace('name: test', `name: ${name}`)}\n${more}`;
const refused = 'expect: { min_rows: 100000 }';
const textIn = (cwd: string) => readFile(join(cwd, 'm.prom'), 'utf8');

/** The values of a file by their names and labels, as they stand there. */
function valuesIn(text: string): Readonly<Record<string, number>> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

describe('run --metrics', () => {
  test('writes what a run did, for readers of any user, in the format of Prometheus', async () => {
    const [from, cwd] = [await service(undefined, { faults: ['503@page=1,times=2'] }), await folderWith({ 'p.yaml': users('night') })];
    const before = Date.now() / 1000;
    const args = ['run', 'p.yaml', '--set', 'service.retry.base=1ms', '--metrics', 'm.prom'];
    expect(await cli(args, { cwd, env: from.env })).toMatchObject({ code: 0 });
    const text = await textIn(cwd);
    for (const line of text.trim().split('\n'))
      expect(line).toMatch(
        /^(?:|# HELP leadstream_\w+ [^\n]+|# TYPE leadstream_\w+ gauge|leadstream_\w+(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? [\d.e+]+)$/,
      );
    const values = valuesIn(text);
    expect(values).toMatchObject({
      leadstream_exit_code: 0,
      'leadstream_run_exit_code{pipeline="night"}': 0,
      'leadstream_run_read_rows{pipeline="night"}': 300,
      'leadstream_run_rows{pipeline="night",output="to[0] csv",count="read"}': 300,
      'leadstream_run_rows{pipeline="night",output="to[0] csv",count="beyond_limit"}': 0,
      'leadstream_run_retries{pipeline="night",reason="503"}': expect.any(Number),
    });
    const written = values['leadstream_run_rows{pipeline="night",output="to[0] csv",count="written"}'] ?? 0;
    const filtered = values['leadstream_run_rows{pipeline="night",output="to[0] csv",count="filtered"}'] ?? 0;
    expect(written + filtered).toBe(300);
    const requests = Object.entries(values).filter(([name]) => name.startsWith('leadstream_run_requests{'));
    expect(requests.reduce((sum, [, count]) => sum + count, 0)).toBe(from.requests.length + from.probes.length);
    expect(values['leadstream_run_last_success_timestamp_seconds{pipeline="night"}']).toBeGreaterThanOrEqual(before);
    expect(values['leadstream_run_duration_seconds{pipeline="night"}']).toBeGreaterThan(0);
    expect((await stat(join(cwd, 'm.prom'))).mode & 0o777).toBe(0o644);
    expect(await visible(cwd)).toEqual(['m.prom', 'night.csv', 'night.csv.rejects.ndjson', 'p.yaml']);
  });

  test('has the same requests, retries and bytes as the report, which are those that the service saw', async () => {
    const faults = ['503@page=2,times=2', '429@page=3,times=1', 'html@page=4,times=1'];
    const [from, cwd] = [await service(undefined, { faults }), await workplace(toCsv)];
    const asked = ['run', 'p.yaml', '--metrics', 'm.prom', '--report', 'r.json', '--set', 'service.retry.base=1ms'];
    expect(await cli(asked, { cwd, env: from.env })).toMatchObject({ code: 0 });
    const { requests }: PipelineDocument = JSON.parse(await readFile(join(cwd, 'r.json'), 'utf8'));
    const samples = samplesIn(await readFile(join(cwd, 'm.prom'), 'utf8')) ?? [];
    const of = (name: string) => samples.filter((sample) => sample.name === name);
    const sum = (values: readonly { readonly value: number }[]) => values.reduce((total, { value }) => total + value, 0);
    expect(requests).toMatchObject({ total: from.requests.length + from.probes.length, probes: from.probes.length });
    expect(sum(of('leadstream_run_requests'))).toBe(requests?.total);
    expect(of('leadstream_run_requests').find(({ labels }) => labels['purpose'] === 'probe')?.value).toBe(requests?.probes);
    expect(of('leadstream_run_response_bytes')[0]?.value).toBe(requests?.bytes);
    const byReason = of('leadstream_run_retries').map(({ labels, value }) => [labels['reason'], value]);
    expect(Object.fromEntries(byReason)).toEqual({ 200: 1, 429: 1, 503: 2 });
    expect(Object.fromEntries(requests?.retries.map(({ status, count }) => [status, count]) ?? [])).toEqual({ 200: 1, 429: 1, 503: 2 });
  });

  test('does so as the built command', async () => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night') })];
    const { finished } = startCli(['run', 'p.yaml', '--metrics', 'm.prom'], { cwd, env: from.env });
    expect(await finished).toMatchObject({ code: 0 });
    expect(valuesIn(await textIn(cwd))).toMatchObject({ leadstream_exit_code: 0, 'leadstream_run_read_rows{pipeline="night"}': 300 });
  });

  test('keeps the time of the last success when a run fails', async () => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night'), 'q.yaml': users('night', refused) })];
    const success = 'leadstream_run_last_success_timestamp_seconds{pipeline="night"}';
    await cli(['run', 'p.yaml', '--metrics', 'm.prom'], { cwd, env: from.env });
    const first = valuesIn(await textIn(cwd));
    expect(await cli(['run', 'q.yaml', '--metrics', 'm.prom'], { cwd, env: from.env })).toMatchObject({ code: 65 });
    const second = valuesIn(await textIn(cwd));
    expect(second[success]).toBe(first[success]);
    expect(second).toMatchObject({
      leadstream_exit_code: 65,
      'leadstream_run_exit_code{pipeline="night"}': 65,
      'leadstream_run_read_rows{pipeline="night"}': 300,
    });
    const names = Object.keys(second);
    expect(names).toContain('leadstream_run_rows{pipeline="night",output="to[0] csv",count="filtered"}');
    expect(names.filter((name) => /count="written"|output_bytes/.test(name))).toEqual([]);
    const last = 'leadstream_run_last_timestamp_seconds{pipeline="night"}';
    expect(second[last]).toBeGreaterThan(first[last] ?? Infinity);
  });

  test('has all pipelines of a run, those of other runs, and says when a file is wrong', async () => {
    const from = await service();
    const cwd = await folderWith({ 'p.yaml': `${users('a')}---\n${users('b', refused)}`, 'q.yaml': users('c'), 'wrong.yaml': 'name: x' });
    await cli(['run', 'q.yaml', '--metrics', 'm.prom'], { cwd, env: from.env });
    expect(await cli(['run', 'p.yaml', '--metrics', 'm.prom'], { cwd, env: from.env })).toMatchObject({ code: 65 });
    const exits = (values: Readonly<Record<string, number>>) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => name.includes('exit_code')));
    const after = {
      leadstream_exit_code: 65,
      'leadstream_run_exit_code{pipeline="a"}': 0,
      'leadstream_run_exit_code{pipeline="b"}': 65,
      'leadstream_run_exit_code{pipeline="c"}': 0,
    };
    expect(exits(valuesIn(await textIn(cwd)))).toEqual(after);
    expect(await cli(['run', 'wrong.yaml', '--metrics', 'm.prom'], { cwd, env: from.env })).toMatchObject({ code: 78 });
    const broken = { leadstream_exit_code: 78, 'leadstream_run_exit_code{pipeline="x"}': 78 };
    expect(exits(valuesIn(await textIn(cwd)))).toEqual({ ...after, ...broken });
  });

  test('knows the pipelines of a file that is wrong by their names, not by those of its tests', async () => {
    const orders = { name: 'orders', from: 'userz', to: [{ csv: { path: 'o.csv' } }], tests: [{ name: 'first', given: { users: [] } }] };
    const cwd = await folderWith({ 'j.json': JSON.stringify(orders, undefined, 2) });
    expect(await cli(['run', 'j.json', '--metrics', 'm.prom'], { cwd })).toMatchObject({ code: 78 });
    const names = [...(await textIn(cwd)).matchAll(/run_exit_code\{pipeline="(\w+)"\} 78/g)].map(([, name]) => name);
    expect(names).toEqual(['orders']);
  });

  test('reads a pipe once, and does not wait for it when what came is wrong', async () => {
    const cwd = await folderWith({});
    const pipe = join(cwd, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const written = writeFile(pipe, 'name: p\nfrom: nothing\nto: []\n');
    expect(await cli(['run', 'pipe', '--metrics', 'm.prom'], { cwd })).toMatchObject({ code: 78 });
    await written;
    expect(await textIn(cwd)).toContain('leadstream_run_exit_code{pipeline="p"} 78');
  });

  test('has of a file that is wrong, beside others, the pipelines that --only names', async () => {
    const from = await service();
    const wrong = `${users('b')}---\n${users('c').replace('from: users', 'from: nothing')}`;
    const cwd = await folderWith({ 'p.yaml': users('a'), 'wrong.yaml': wrong });
    const args = ['run', 'p.yaml', 'wrong.yaml', '--metrics', 'm.prom', '--only', 'a', '--only', 'b'];
    expect(await cli(args, { cwd, env: from.env })).toMatchObject({ code: 78 });
    const exits = Object.entries(valuesIn(await textIn(cwd))).filter(([name]) => name.includes('run_exit_code'));
    expect(Object.fromEntries(exits)).toEqual({
      'leadstream_run_exit_code{pipeline="a"}': 0,
      'leadstream_run_exit_code{pipeline="b"}': 78,
    });
  });

  test('has of pipelines that were not run the exit code of the command, and what their last run left', async () => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': `${users('a')}---\n${users('b')}` })];
    const args = ['run', 'p.yaml', '--metrics', 'm.prom'];
    await cli(args, { cwd, env: from.env });
    const first = valuesIn(await textIn(cwd));
    expect(await cli(args, { cwd, env: { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' } })).toMatchObject({ code: 77 });
    const second = valuesIn(await textIn(cwd));
    expect(second).toMatchObject({
      leadstream_exit_code: 77,
      'leadstream_run_exit_code{pipeline="a"}': 77,
      'leadstream_run_exit_code{pipeline="b"}': 77,
    });
    const rows = 'leadstream_run_read_rows{pipeline="b"}';
    expect([first[rows], second[rows]]).toEqual([300, 300]);
  });

  test('has each pipeline as soon as it has ended', async () => {
    const cwd = await folderWith({ 'p.yaml': `${users('a')}---\n${users('b')}` });
    const texts: string[] = [];
    const from = await service(undefined, {
      onRequest: () => texts.push(existsSync(join(cwd, 'm.prom')) ? readFileSync(join(cwd, 'm.prom'), 'utf8') : ''),
    });
    expect(await cli(['run', 'p.yaml', '--metrics', 'm.prom'], { cwd, env: from.env })).toMatchObject({ code: 0 });
    const last = valuesIn(texts.at(-1) ?? '');
    expect(last).toMatchObject({ 'leadstream_run_exit_code{pipeline="a"}': 0 });
    expect(last).not.toHaveProperty('leadstream_exit_code');
    expect(valuesIn(await textIn(cwd))).toMatchObject({ leadstream_exit_code: 0, 'leadstream_run_exit_code{pipeline="b"}': 0 });
  });

  test('has the exit code of wrong usage where there are metrics, and makes no file for it', async () => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night') })];
    const args = ['run', 'p.yaml', '--metrics', 'm.prom'];
    const wrong = [...args, '--only', 'nobody'];
    expect(await cli(wrong, { cwd, env: from.env })).toMatchObject({ code: 2 });
    expect(await visible(cwd)).toEqual(['p.yaml']);
    await cli(args, { cwd, env: from.env });
    expect(await cli(wrong, { cwd, env: from.env })).toMatchObject({ code: 2 });
    expect(valuesIn(await textIn(cwd))).toMatchObject({ leadstream_exit_code: 2, 'leadstream_run_exit_code{pipeline="night"}': 0 });
  });

  test.each([
    ['a step that there is not', users('night').replace('filter:', 'filtre:')],
    ['a quote without an end', users('night').replace('from: users', "from: 'users")],
    ['another document that is wrong', `${users('night')}---\n${users('other').replace('from: users', 'from: nothing')}`],
    ['JSON', '{ "name": "night", "from": "nothing", "to": [{ "stdout": {} }] }'],
  ])('tells of a pipeline whose file is wrong, by %s, that it was not run, and keeps what its last run did', async (_what, wrong) => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night'), 'q.yaml': users('fine') })];
    const [code, other] = ['leadstream_run_exit_code{pipeline="night"}', 'leadstream_run_exit_code{pipeline="fine"}'];
    const values = async (...files: string[]) => {
      await cli(['run', ...files, '--metrics', 'm.prom'], { cwd, env: from.env });
      return valuesIn(await textIn(cwd));
    };
    const { [code]: first, leadstream_exit_code: whole, ...before } = await values('p.yaml');
    expect([first, whole]).toEqual([0, 0]);
    await writeFile(join(cwd, 'p.yaml'), wrong);
    const rows = Object.fromEntries(Object.entries(before).filter(([name]) => name.startsWith('leadstream_run_rows')));
    expect(await values('p.yaml')).toMatchObject({ ...rows, [code]: 78, leadstream_exit_code: 78 });
    await writeFile(join(cwd, 'p.yaml'), users('night'));
    expect(await values('p.yaml')).toMatchObject({ [code]: 0, leadstream_exit_code: 0 });
    await writeFile(join(cwd, 'p.yaml'), wrong);
    expect(await values('p.yaml', 'q.yaml')).toMatchObject({ ...rows, [code]: 78, [other]: 0, leadstream_exit_code: 78 });
  });

  test('refuses before any request what is no file of its own, and what cannot be written', async () => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night'), 'other.prom': 'node_load1 0.5\n' })];
    const refusal = async (file: string) => {
      const { code, stderr } = await cli(['run', 'p.yaml', '--metrics', file], { cwd, env: from.env });
      return { code, stderr };
    };
    expect(await refusal('other.prom')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('something other than leadstream metrics'),
    });
    expect(await refusal('m.txt')).toMatchObject({ code: 2, stderr: expect.stringContaining('ends in .prom') });
    expect(await refusal('nowhere/m.prom')).toMatchObject({ code: 1, stderr: expect.stringContaining('E_SINK_PATH') });
    expect(from.requests).toEqual([]);
    expect(await readFile(join(cwd, 'other.prom'), 'utf8')).toBe('node_load1 0.5\n');
  });

  test.each(['m.prom', './m.prom', 'link/m.prom'])('refuses the file of the report, under the name %s, too', async (report) => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night') })];
    await symlink('.', join(cwd, 'link'));
    const { code, stderr } = await cli(['run', 'p.yaml', '--metrics', 'm.prom', '--report', report], { cwd, env: from.env });
    expect(code).toBe(2);
    expect(stderr).toContain('--report and --metrics name the same file');
    expect({ requests: from.requests, files: await visible(cwd) }).toEqual({ requests: [], files: ['link', 'p.yaml'] });
  });

  test('takes an empty file, and one of another version, whose metrics it does not know', async () => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night') })];
    await writeFile(join(cwd, 'm.prom'), '# HELP leadstream_of_old x\nleadstream_of_old{pipeline="night"} 1\n');
    expect(await cli(['run', 'p.yaml', '--metrics', 'm.prom'], { cwd, env: from.env })).toMatchObject({ code: 0 });
    expect(await textIn(cwd)).not.toContain('leadstream_of_old');
  });
});

test('metrics are read as they were written, whatever stands in their labels', async () => {
  const sample = fc.record({
    name: fc.constantFrom('leadstream_run_requests' as const),
    labels: fc.record({
      pipeline: fc.string({ unit: 'grapheme' }),
      purpose: fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', ',', '}', ' ', '=') }),
    }),
    value: fc.double({ noNaN: true, noDefaultInfinity: true }),
  });
  const samples = fc.uniqueArray(sample, { selector: ({ labels }) => JSON.stringify(labels), maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(samples, async (given) => {
      const read = samplesIn(await textOf(given));
      expect(read).toEqual(given.map((each) => ({ ...each, value: each.value === 0 ? 0 : each.value })));
    }),
  );
});
