import { existsSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PipelineDocument } from '../../../src/cli/report-document.js';
import { cli } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { folderWith, visible } from '../../support/temporary.js';

const users = (name: string, more = '') =>
  `${pipelineText(`from: users\nto:\n  - csv: { path: ${name}.csv }`).replace('name: test', `name: ${name}`)}\n${more}`;
const refused = 'expect: { min_rows: 100000 }';
const textIn = (cwd: string) => readFile(join(cwd, 'm.prom'), 'utf8');
const write = ['--metrics', 'm.prom'];

/** The values of a file by their names and labels, as they stand there. */
function valuesIn(text: string): Readonly<Record<string, number>> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

/** The exit codes in a file: of the command, and by pipeline. */
async function exitsIn(cwd: string): Promise<Readonly<Record<string, number>>> {
  const exits = Object.entries(valuesIn(await textIn(cwd))).filter(([name]) => name.includes('exit_code'));
  return Object.fromEntries(exits.map(([name, exit]) => [/"(\w+)"/.exec(name)?.[1] ?? 'command', exit]));
}

describe('run --metrics', () => {
  test('writes what a run did, for readers of any user, in the format of Prometheus, as the report and the service have it', async () => {
    const faults = ['503@purpose=page,page=1,times=2', '429@purpose=page,page=2,times=1'];
    const [from, cwd] = [await service(undefined, { faults }), await folderWith({ 'p.yaml': users('night') })];
    const before = Date.now() / 1000;
    const args = ['run', 'p.yaml', '--set', 'service.retry.base=1ms', '--report', 'r.json', ...write];
    expect(await cli(args, { cwd, env: from.env })).toMatchObject({ code: 0 });
    const text = await textIn(cwd);
    for (const line of text.trim().split('\n'))
      expect(line).toMatch(/^(?:|# TYPE leadstream_\w+ gauge|leadstream_\w+(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? [\d.e+]+)$/);
    const { requests }: PipelineDocument = JSON.parse(await readFile(join(cwd, 'r.json'), 'utf8'));
    expect(requests).toMatchObject({ probe: from.probes.length, retries: { 429: 1, 503: 2 } });
    expect((requests?.page ?? 0) + (requests?.probe ?? 0)).toBe(from.requests.length + from.probes.length);
    const values = valuesIn(text);
    expect(values).toMatchObject({
      leadstream_exit_code: 0,
      'leadstream_run_exit_code{pipeline="night"}': 0,
      'leadstream_run_read_rows{pipeline="night"}': 300,
      'leadstream_run_rows{pipeline="night",output="to[0] csv",count="written"}': 300,
      'leadstream_run_rows{pipeline="night",output="to[0] csv",count="beyond_limit"}': 0,
      'leadstream_run_requests{pipeline="night",purpose="page"}': requests?.page,
      'leadstream_run_requests{pipeline="night",purpose="probe"}': requests?.probe,
      'leadstream_run_retries{pipeline="night",reason="429"}': 1,
      'leadstream_run_retries{pipeline="night",reason="503"}': 2,
      'leadstream_run_response_bytes{pipeline="night"}': requests?.bytes,
    });
    expect(values['leadstream_run_last_success_timestamp_seconds{pipeline="night"}']).toBeGreaterThanOrEqual(before);
    expect(values['leadstream_run_duration_seconds{pipeline="night"}']).toBeGreaterThan(0);
    expect((await stat(join(cwd, 'm.prom'))).mode & 0o777).toBe(0o644);
    expect(await visible(cwd)).toEqual(['m.prom', 'night.csv', 'night.csv.rejects.ndjson', 'p.yaml', 'r.json']);
  });

  test('keeps the time of the last success when a run fails', async () => {
    const [from, cwd] = [await service(), await folderWith({ 'p.yaml': users('night'), 'q.yaml': users('night', refused) })];
    const [success, last] = ['last_success_timestamp', 'last_timestamp'].map((name) => `leadstream_run_${name}_seconds{pipeline="night"}`);
    await cli(['run', 'p.yaml', ...write], { cwd, env: from.env });
    const first = valuesIn(await textIn(cwd));
    expect(await cli(['run', 'q.yaml', ...write], { cwd, env: from.env })).toMatchObject({ code: 65 });
    const second = valuesIn(await textIn(cwd));
    expect(second[success ?? '']).toBe(first[success ?? '']);
    expect(second[last ?? '']).toBeGreaterThan(first[last ?? ''] ?? Infinity);
    expect(second).toMatchObject({ leadstream_exit_code: 65, 'leadstream_run_read_rows{pipeline="night"}': 300 });
    expect(Object.keys(second).filter((name) => /count="written"|output_bytes/.test(name))).toEqual([]);
  });

  test('has all pipelines of a run, those of other runs, and what their last run did while they are not run', async () => {
    const from = await service();
    const files = { 'p.yaml': `${users('a')}---\n${users('b', refused)}`, 'q.yaml': users('c'), 'wrong.yaml': 'name: x' };
    const cwd = await folderWith({ ...files, 'cut.yaml': 'name: sales # of the night\nfrom: [\n' });
    const code = async (words: readonly string[], env = {}) =>
      (await cli(['run', ...words, ...write], { cwd, env: { ...from.env, ...env } })).code;
    expect(await code(['q.yaml'])).toBe(0);
    expect(await code(['p.yaml'])).toBe(65);
    expect(await exitsIn(cwd)).toEqual({ command: 65, a: 0, b: 65, c: 0 });
    expect(await code(['wrong.yaml', 'cut.yaml', 'q.yaml'])).toBe(78);
    expect(await exitsIn(cwd)).toEqual({ command: 78, a: 0, b: 65, c: 0, x: 78, sales: 78 });
    expect(await code(['p.yaml'], { LEADSTREAM_REST_API_KEY: 'wrong-key' })).toBe(77);
    expect(await exitsIn(cwd)).toMatchObject({ command: 77, a: 77, b: 77 });
    expect(valuesIn(await textIn(cwd))['leadstream_run_read_rows{pipeline="b"}']).toBe(300);
    expect(await code(['p.yaml', '--only', 'nobody'])).toBe(2);
    expect(await exitsIn(cwd)).toMatchObject({ command: 2, a: 77 });
  });

  test('has each pipeline as soon as it has ended', async () => {
    const cwd = await folderWith({ 'p.yaml': `${users('a')}---\n${users('b')}` });
    const texts: string[] = [];
    const from = await service(undefined, {
      onRequest: () => texts.push(existsSync(join(cwd, 'm.prom')) ? readFileSync(join(cwd, 'm.prom'), 'utf8') : ''),
    });
    expect(await cli(['run', 'p.yaml', ...write], { cwd, env: from.env })).toMatchObject({ code: 0 });
    const last = valuesIn(texts.at(-1) ?? '');
    expect(last).toMatchObject({ 'leadstream_run_exit_code{pipeline="a"}': 0 });
    expect(last).not.toHaveProperty('leadstream_exit_code');
    expect(await exitsIn(cwd)).toEqual({ command: 0, a: 0, b: 0 });
  });
});
