import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { loadPipeline } from '../../../src/plan/index.js';
import { failedRunOf, recoverRuns, rollbackTable, runPipeline, type RunOptions, type RunReport } from '../../../src/run/index.js';
import { changing, type Lists } from '../../support/changing.js';
import { leads, pipelineText, service, testKey, type LoggedService } from '../../support/services.js';
import { cli } from '../../support/cli.js';
import { temporaryFolder } from '../../support/temporary.js';

const bridges = (count: number) => Array.from({ length: count }, (_, index) => ({ id: String(index), title: `Bridge ${index}` }));
const bridged = (count: number) => leads(count, (index) => ({ bridge_id: String(index % 10), email: 'a@b' }));
const joined = 'steps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title] }\n';
const toCsv = 'to:\n  - csv: { path: leads.csv }';
const toTable = 'to:\n  - parquet: { path: t }';
const plain = `from: leads\n${toCsv}`;
const usual = `from: leads\n${joined}${toCsv}`;

let lists: Lists;
let from: LoggedService;
let folder: string;

interface Night extends RunOptions {
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly strict?: boolean;
  /** State folder. */
  readonly state?: string;
  /** Wait at a doubtful end. */
  readonly wait?: string;
}

/** Runs a pipeline over the lists of a night. */
async function night(changes: Lists = {}, body = usual, how: Night = {}) {
  const { name = 'test', env = from.env, strict = false, state = 'state', wait = '1ms', ...options } = how;
  Object.assign(lists, changes);
  const text = pipelineText(body).replace('name: test', `name: ${name}`);
  const set = { 'service.retry.base': '1ms', 'service.end_wait': wait, 'service.strict': String(strict) };
  return runPipeline(await loadPipeline({ text, file: 'p.yaml' }, { env, baseDir: folder, set }), {
    stateDir: join(folder, state),
    ...options,
  });
}

/** Runs a pipeline that a gate refuses, which leaves the output as it was. */
async function refused(...how: Parameters<typeof night>) {
  const output = () => readFile(join(folder, 'leads.csv')).catch(() => undefined);
  const before = await output();
  const failure: unknown = await night(...how).catch((error: unknown) => error);
  const report = failedRunOf(failure);
  if (!(failure instanceof Error) || report === undefined) throw new Error('the run was published');
  expect(failure).toMatchObject({ name: 'GateError', exit: 65 });
  expect(await output()).toEqual(before);
  return { report, message: failure.message };
}

/** Runs a file by the command, in the folder of the test. */
async function command(body: string, ...words: string[]) {
  await writeFile(join(folder, 'p.yaml'), pipelineText(body));
  return cli(['run', 'p.yaml', '--set', 'service.end_wait=1ms', ...words], { cwd: folder, env: from.env });
}

const shrinkGates = ({ gates }: Pick<RunReport, 'gates'>) =>
  gates.filter(({ gate }) => gate.endsWith('_shrink')).map(({ gate, at, outcome }) => `${gate}${at ? ` of ${at}` : ''}: ${outcome}`);

/** Codes of the warnings, without those of every run of these tests. */
const codes = ({ warnings }: Pick<RunReport, 'warnings'>) =>
  warnings.map(({ code }) => code).filter((code) => code !== 'W_SOURCE_FIELD_GONE' && code !== 'W_RUN_PARTIAL');

describe('shrinking', () => {
  beforeEach(async () => {
    lists = { leads: bridged(100), bridges: bridges(10), users: [{ uid: '1', email: 'a@b', affid: '1' }] };
    [from, folder] = [await service(changing(lists)), await temporaryFolder()];
  });

  describe('a list that lost more than half of its rows', () => {
    test.each<[string, Lists, string, string]>([
      ['the list that is read', { leads: bridged(49) }, 'leads: 49 rows were read, and 100 ', '{ leads: 51% }'],
      ['the other side of a join', { bridges: [] }, 'bridges (steps[0] join): 0 rows were read, and 10 ', '{ bridges: 100% }'],
    ])('refuses the run until the file allows it: %s', async (_what, changes, message, share) => {
      const { runId } = await night();
      const { message: line } = await refused(changes);
      expect(line.split('\n')).toHaveLength(1);
      for (const part of [message, `by the earlier run ${runId}`, '--allow-shrink', 'expect.max_read_shrink']) expect(line).toContain(part);
      await night({}, `${usual}\nexpect: { max_read_shrink: ${share} }`);
    });

    test('is counted in rows of the list, whatever the steps leave, and under spool: off too', async () => {
      const filtered = `from: leads\nspool: off\nsteps:\n  - filter: bridge_id == '1'\n${toCsv}`;
      await night({}, filtered);
      expect(await night({ leads: leads(100, () => ({ bridge_id: '2' })) }, filtered)).toMatchObject({ read: 100 });
      expect((await refused({ leads: leads(20, () => ({ bridge_id: '1' })) }, filtered)).message).toContain('20 rows were read, and 100');
    });

    test('is recognised at outputs whose paths change from run to run', async () => {
      const body = `from: leads\nto:\n  - csv: { path: 'out/{{ run.id }}.csv' }\nexpect: { max_shrink: 20% }`;
      await night({}, body);
      const { message } = await refused({ leads: bridged(70) }, body);
      expect(message).toMatch(/found 70 rows, previously 100 \(30% smaller\); run --allow-shrink publishes it once$/);
      await refused({ leads: [] }, body);
    });
  });

  describe('the earlier count of a list', () => {
    const accounts = [{ restApiKey: testKey }, { restApiKey: 'another-key-of-the-test' }];

    test('is that of the same service and account, where nothing is at the output', async () => {
      const to = (name: string) => `from: leads\nto:\n  - csv: { path: ${name}.csv }`;
      await night({}, to('one'));
      const other = await service(changing(lists), { accounts });
      expect(codes(await night({ leads: [] }, to('two'), { env: other.env }))).toEqual(['W_SOURCE_EMPTY']);
      await night({ leads: bridged(100) }, to('two'), { env: other.env });
      const account = { ...other.env, LEADSTREAM_REST_API_KEY: 'another-key-of-the-test' };
      expect(await night({ leads: bridged(10) }, to('three'), { env: account })).toMatchObject({ read: 10 });
      await refused({}, to('four'), { env: other.env });
      await night({}, to('four'), { env: account });
    });

    test('is that of the output, after a new key or under another address too', async () => {
      await night();
      const moved = await service(changing(lists), { accounts });
      const { message } = await refused({ leads: bridged(10) }, usual, { env: moved.env });
      expect(message).toContain('leads: 10 rows were read, and 100 by the earlier run');
      await refused({}, usual, { env: { ...moved.env, LEADSTREAM_REST_API_KEY: 'another-key-of-the-test' } });
    });

    test('is in the manifest of a table, when the state folder is gone or the table was rolled back', async () => {
      const body = `from: leads\n${joined}${toTable}`;
      const { runId } = await night({}, body);
      await rm(join(folder, 'state'), { recursive: true });
      const { message } = await refused({ leads: bridged(10), bridges: [] }, body);
      expect(message.split('\n').map((line) => line.split(';', 1)[0])).toEqual([
        `leads: 10 rows were read, and 100 by the earlier run ${runId}`,
        `bridges (steps[0] join): 0 rows were read, and 10 by the earlier run ${runId}`,
      ]);
      await night({}, body, { allowShrink: true });
      await rollbackTable(join(folder, 't'), { stateDir: join(folder, 'state') });
      await refused({}, body);
    });

    test('is kept for every output of a pipeline, though several runs end at the same time', async () => {
      const names = ['a.csv', 'b.csv', 'c.csv', 'd.csv'];
      await Promise.all(names.map((name) => night({}, `from: leads\nspool: off\n${toCsv.replace('leads.csv', name)}`)));
      const counts = JSON.parse(await readFile(join(folder, 'state/counts/test.json'), 'utf8')) as { readonly outputs: object };
      expect(Object.keys(counts.outputs).sort()).toEqual(names.map((name) => join(folder, name)));
    });

    test('is not there for a first run, which publishes', async () => {
      const report = await night({ leads: bridged(1), bridges: bridges(1) });
      expect(codes(report)).toEqual([]);
      expect(shrinkGates(report)).toEqual(['max_read_shrink of leads: not compared', 'max_read_shrink of steps[0] join: not compared']);
    });

    test('is missed, with a warning, where an output exists that no run of the state folder made', async () => {
      const body = `${plain}\nexpect: { max_shrink: 20%, max_growth: 900% }`;
      await night({}, body);
      const report = await night({ leads: bridged(10) }, body, { state: 'elsewhere' });
      expect(codes(report)).toEqual(['W_GATE_BASELINE']);
      expect(shrinkGates(report)).toEqual(['max_read_shrink of leads: not compared', 'expect.max_shrink of to[0] csv: not compared']);
      expect(codes(await night({}, body, { state: 'elsewhere' }))).toEqual([]);
    });

    test('is not missed at a table, nor at a new path, nor for a join that is new in the pipeline', async () => {
      const body = `from: leads\n${toTable}\n  - csv: { path: '{{ run.id }}.csv' }\nexpect: { max_growth: 20% }`;
      await night({}, body);
      expect(codes(await night({}, body, { state: 'elsewhere' }))).toEqual([]);
      await night({}, plain);
      const report = await night();
      expect(shrinkGates(report)).toEqual(['max_read_shrink of leads: passed', 'max_read_shrink of steps[0] join: not compared']);
      expect(codes(report)).toEqual([]);
    });

    test('is reported as missing when it cannot be read', async () => {
      await night();
      await writeFile(join(folder, 'state', 'counts', 'test.json'), '{"version":1,"sour');
      expect(codes(await night({ leads: bridged(10) }))).toContain('W_RUN_COUNTS');
      await refused({ leads: [] });
    });

    test('is in a private folder and names no account', async () => {
      await night();
      const counts = join(folder, 'state', 'counts');
      expect((await stat(counts)).mode & 0o777).toBe(0o700);
      expect((await readdir(counts)).sort()).toEqual(['account.key', 'test.json']);
      expect(await readFile(join(counts, 'test.json'), 'utf8')).not.toContain(testKey);
    });

    test('is not that of a part: of a table that says so, or of a file of this state folder', async () => {
      const part = 'from: leads\nsteps:\n  - limit: 10\n';
      await night({}, `${part}${toTable}`);
      expect(shrinkGates(await night({}, `from: leads\n${toTable}`))).toEqual(['max_read_shrink of leads: not compared']);
      await night({}, `${part}${toCsv}`);
      expect(codes(await night({}, plain))).toEqual([]);
      await night({}, `${part}${toCsv}`, { allowPartial: true });
      expect((await refused({ leads: bridged(20) }, plain)).message).toContain('20 rows were read, and 100 by the earlier run');
      expect(codes(await night({}, plain, { state: 'new' }))).toEqual(['W_GATE_BASELINE']);
    });
  });

  describe('the counts of a commit that was cut short', () => {
    /** A first run that was logged, while something stood in the way of its output. */
    async function cutShort() {
      const inTheWay = join(folder, 'leads.csv');
      const page = () => {
        mkdirSync(inTheWay, { recursive: true });
        writeFileSync(join(inTheWay, 'file'), '');
      };
      await expect(night({}, plain, { watch: { page } })).rejects.toMatchObject({ code: 'E_SINK_WRITE' });
      expect(await readdir(join(folder, 'state', 'counts'))).not.toContain('test.json');
      rmSync(inTheWay, { recursive: true });
    }

    test('are kept by the run that recovers it', async () => {
      await cutShort();
      const failure: unknown = await night({ leads: bridged(3) }, plain).catch((error: unknown) => error);
      expect(failure).toMatchObject({ message: expect.stringContaining('leads: 3 rows were read, and 100 by the earlier run') });
      expect(failedRunOf(failure)?.warnings).toMatchObject([{ code: 'W_RUN_RECOVERED' }, { code: 'W_SOURCE_FIELD_GONE' }]);
    });

    test('are kept by recoverRuns, but not over counts that are damaged', async () => {
      await cutShort();
      await recoverRuns(join(folder, 'state'));
      expect(codes(await night({}, plain))).toEqual([]);
      rmSync(join(folder, 'state'), { recursive: true });
      rmSync(join(folder, 'leads.csv'));
      await cutShort();
      await writeFile(join(folder, 'state', 'counts', 'test.json'), '{', { mode: 0o600 });
      await recoverRuns(join(folder, 'state'));
      expect(codes(await night({}, plain))).toEqual(['W_RUN_COUNTS', 'W_GATE_BASELINE']);
      expect(codes(await night({}, plain))).toEqual([]);
    });
  });

  describe('the end of a list, where the last run counted it', () => {
    test('waits for nothing behind as many rows, though the last page is full', async () => {
      await night({ leads: bridged(200) });
      const started = performance.now();
      expect(await night({}, usual, { wait: '35s' })).toMatchObject({ read: 200 });
      expect(await night({ leads: bridged(201) }, usual, { wait: '35s' })).toMatchObject({ read: 201 });
      expect(performance.now() - started).toBeLessThan(35_000);
    });

    test('waits behind fewer rows, in lists that are joined too', async () => {
      await night({ leads: bridged(195) });
      const [stop, requested] = [new AbortController(), from.requests.length];
      const stopped = night({ bridges: bridges(9) }, usual, { wait: '35s', signal: stop.signal });
      await from.until((requests) => requests.slice(requested).includes('bridges?page=2&limit=100'));
      // Without a wait the run is over by then.
      setTimeout(() => stop.abort(), 400);
      await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    });
  });

  describe('--allow-shrink', () => {
    test('publishes once, for max_shrink too', async () => {
      const body = `from: leads\n${toTable}\nexpect: { max_shrink: 20% }`;
      expect(await command(body)).toMatchObject({ code: 0 });
      lists.leads = bridged(10);
      for (const _ of [1, 2])
        expect(await command(body)).toMatchObject({ code: 65, stderr: expect.stringContaining('run --allow-shrink') });
      expect(await command(body, '--allow-shrink')).toMatchObject({ code: 0 });
      expect(await command(body)).toMatchObject({ code: 0 });
    });

    test.each<[number, readonly string[]]>([
      [40, ['max_read_shrink of leads: overridden', 'expect.max_shrink of to[0] csv: overridden']],
      [70, ['max_read_shrink of leads: passed', 'expect.max_shrink of to[0] csv: overridden']],
      [90, ['max_read_shrink of leads: passed', 'expect.max_shrink of to[0] csv: passed']],
    ])('is in report and summary where it was needed, with %i of 100 rows', async (rows, expected) => {
      const body = `${plain}\nexpect: { max_shrink: 20% }`;
      await night({}, body);
      const report = await night({ leads: bridged(rows) }, body, { allowShrink: true });
      expect(shrinkGates(report)).toEqual(expected);
      const overridden = expected.filter((line) => line.endsWith('overridden'));
      expect(codes(report)).toEqual(overridden.map(() => 'W_GATE_OVERRIDDEN'));
    });

    test('publishes once under strict: an output without a count, and an empty list, but nothing else', async () => {
      const body = `from: users\n${toCsv}`;
      await night({}, body);
      const how = { strict: true, state: 'new' };
      for (const _ of [1, 2])
        expect((await refused({}, body, how)).message).toMatch(/^W_GATE_BASELINE: .* \(run --allow-shrink publishes it once\)$/);
      expect(codes(await night({}, body, { ...how, allowShrink: true }))).toEqual(['W_GATE_BASELINE']);
      expect(codes(await night({}, body, how))).toEqual([]);
      const empty = { ...how, state: 'newer' };
      rmSync(join(folder, 'leads.csv'));
      expect((await refused({ users: [] }, body, empty)).message).toMatch(/^W_SOURCE_EMPTY: .* \(run --allow-shrink publishes it once\)$/);
      expect(codes(await night({}, body, { ...empty, allowShrink: true }))).toEqual(['W_SOURCE_EMPTY']);
      expect(codes(await night({}, body, empty))).toEqual([]);
      const users = [{ uid: '1', email: 'a@b', affid: '1' }];
      await refused({ users }, `${body}\nsteps: [{ filter: uid == 'x' }]`, { strict: true, allowShrink: true });
    });
  });

  test('an inner join drops every row for an empty list without an earlier count only where this is allowed', async () => {
    const inner = usual.replace('as: b', 'as: b, type: inner');
    const empty = { bridges: [] };
    const { message, report: failed } = await refused(empty, inner);
    expect(message).toMatch(/^bridges \(steps\[0\] join\): no rows were read, and the inner join dropped every row; .* --allow-shrink$/);
    expect(shrinkGates(failed)).toEqual(['max_read_shrink of leads: not compared', 'max_read_shrink of steps[0] join: refused']);
    await refused({}, inner);
    for (const body of [usual, `${inner}\nexpect: { max_read_shrink: { bridges: 100% } }`])
      await night({}, body.replace('leads.csv', 'other.csv'), { state: 'other', name: 'other' });
    expect(codes(await night({}, inner, { allowShrink: true }))).toEqual(['W_SOURCE_EMPTY', 'W_GATE_OVERRIDDEN']);
    expect(codes(await night({}, inner))).toEqual([]);
    await night({ leads: [] }, inner, { state: 'new', name: 'new' });
    await night({ leads: bridged(3) }, inner.replace(toCsv, 'to:\n  - stdout: {}'), {
      state: 'new',
      name: 'printing',
      stdout: new PassThrough(),
    });
  });

  describe('what is empty or finds nothing is a warning', () => {
    test('of a list, on either side of a join, with no earlier count', async () => {
      const report = await night({ leads: [], bridges: [] });
      expect(codes(report)).toEqual(['W_SOURCE_EMPTY', 'W_SOURCE_EMPTY']);
      expect(codes(await night())).toEqual([]);
    });

    test('of a filter that keeps nothing, unless a gate says that nothing is enough', async () => {
      const body = `from: leads\nsteps:\n  - filter: lead_status == 'gone'\n  - dedupe: { by: [email] }\n${toCsv}`;
      const report = await night({}, body);
      expect(report.warnings).toContainEqual({
        code: 'W_STEP_EMPTY',
        message: 'steps[0] filter: none of 100 rows is kept; expect.min_rows refuses that',
      });
      expect(codes(await night({}, `${body}\nexpect: { min_rows: 0 }`))).toEqual([]);
      const one = (condition: string) => `from: leads\nsteps:\n  - filter: lead_id == '0'\n  - filter: '${condition}'\n${toCsv}`;
      expect(codes(await night({}, one('true')))).toEqual([]);
    });

    test.each(['left', 'inner'])('of a %s join without a match, unless min_match says that none is enough', async (type) => {
      const body = (more = '') => usual.replace('as: b', `as: b, type: ${type}${more}`);
      const changed = { bridges: bridges(10).map((bridge) => ({ ...bridge, id: `x${bridge.id}` })) };
      expect((await night(changed, body())).warnings).toContainEqual({
        code: 'W_STEP_NO_MATCH',
        message: 'steps[0] join: none of 100 rows found a match in bridges; min_match refuses that',
      });
      expect(codes(await night({}, body(', min_match: 0%')))).toEqual([]);
    });

    test('of an output all of whose rows were rejected, unless a gate refuses that', async () => {
      lists.leads = leads(100, () => ({ email: 'a@b' }));
      const body = (max: string) => `from: leads\nsteps:\n  - cast: { types: { email: integer } }\n${toCsv}\nrejects: { max: ${max} }`;
      expect((await night({}, body('100%'))).warnings).toContainEqual({
        code: 'W_SINK_EMPTY',
        message: expect.stringMatching(/^to\[0\] csv: no row was written/),
      });
      const { report, message } = await refused({}, body('0'));
      expect(message).toContain('100 of 100 rows were rejected');
      expect(codes(report)).toEqual([]);
    });
  });
});
