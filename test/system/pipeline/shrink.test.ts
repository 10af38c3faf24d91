import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { GateError, SpecError } from '../../../src/core/errors.js';
import { parsePipeline, rollbackTable, runPipeline, summaryOf, type RunReport, type RunOptions } from '../../../src/pipeline/index.js';
import { changing, type Lists } from '../../support/changing.js';
import { bridged, bridges, changingLists, joined, toCsv, toTable } from '../../support/changing-lists.js';
import { generate } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import { leads } from '../../support/pipelines.js';
import { pipelineText, service, testKey, type LoggedService } from '../../support/services.js';

let lists: Lists;
let from: LoggedService;
let folder: string;

interface Night {
  readonly body?: string;
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** How long a doubtful end is let rest. */
  readonly wait?: string;
  readonly options?: RunOptions;
}

/** One night: what the service has by then. */
async function night(
  changes: Lists,
  { body = `from: leads\n${joined}${toCsv}`, name = 'test', env = from.env, wait = '1ms', options }: Night = {},
) {
  Object.assign(lists, changes);
  const text = pipelineText(body).replace('name: test', `name: ${name}`);
  const pipeline = await parsePipeline(text, 'p.yaml', {
    env,
    baseDir: folder,
    set: { 'service.retry.base': '1ms', 'service.end_wait': wait },
  });
  return runPipeline(pipeline, { stateDir: join(folder, 'state'), ...options });
}

/** The lines of the gates that refused a night, which left the output as it was. */
async function refused(changes: Lists, how: Night = {}): Promise<readonly string[]> {
  const before = await readFile(join(folder, 'leads.csv')).catch(() => undefined);
  const failure: unknown = await night(changes, how).catch((error: unknown) => error);
  if (!(failure instanceof GateError)) throw failure instanceof Error ? failure : new Error('the night was published');
  expect(failure).toMatchObject({ code: 'E_GATE_SHRINK', exit: 65 });
  expect(await readFile(join(folder, 'leads.csv')).catch(() => undefined)).toEqual(before);
  return failure.message.split('\n');
}

/** What became of the gates that look for less than before. */
const shrinkGates = ({ gates }: RunReport) =>
  gates.filter(({ gate }) => gate.endsWith('_shrink')).map(({ gate, outcome }) => `${gate}: ${outcome}`);

/** Warnings of what is not so in every run of the test. */
const news = ({ warnings }: RunReport) => warnings.filter(({ code }) => code !== 'W_SOURCE_FIELD_GONE');

const told = (report: RunReport) =>
  report.warnings.filter(({ code }) => /^W_(?:SOURCE_EMPTY|STEP_)/.test(code)).map(({ code, message }) => `${code} ${message}`);

describe('shrinking', () => {
  beforeEach(async () => {
    ({ lists, from, folder } = await changingLists());
  });

  describe('a list that has become small', () => {
    test.each<[string, Lists, string, string]>([
      ['the list that is read, when it is empty', { leads: [] }, 'leads: 0 rows were read, and 100 ', '{ leads: 100% }'],
      [
        'the list that is read, when it lost more than half',
        { leads: bridged(49) },
        'leads: 49 rows were read, and 100 ',
        '{ leads: 51% }',
      ],
      [
        'the other side of a join, when it is empty',
        { bridges: [] },
        'bridges (steps[0] join): 0 rows were read, and 10 ',
        '{ bridges: 100% }',
      ],
      [
        'the other side of a join, when it lost more than half',
        { bridges: bridges(4) },
        'bridges (steps[0] join): 4 rows were read, and 10 ',
        '{ bridges: 60% }',
      ],
    ])('refuses the run: %s', async (_what, changes, message, share) => {
      const { runId } = await night({});
      const [line = '', ...others] = await refused(changes);
      expect(others).toEqual([]);
      expect(line).toContain(message);
      expect(line).toContain(`by the earlier run ${runId}`);
      expect(line).toContain('run once with --allow-shrink');
      expect(line).toContain(`or set expect.max_read_shrink: ${share}`);
      await night({}, { body: `from: leads\n${joined}${toCsv}\nexpect: { max_read_shrink: ${share} }` });
    });

    test('is told of every list at once, in an inner join too', async () => {
      const inner = `from: leads\n${joined.replace('as: b', 'as: b, type: inner')}${toCsv}`;
      await night({}, { body: inner });
      expect(await refused({ leads: bridged(10), bridges: [] }, { body: inner })).toHaveLength(2);
    });

    test('does not refuse up to half, and tells from a tenth on', async () => {
      await night({});
      expect(summaryOf(await night({ leads: bridged(91) }))).not.toContain('before');
      const half = summaryOf(await night({ leads: bridged(50), bridges: bridges(5) }));
      expect(half.split('\n').filter((line) => line.endsWith('before'))).toEqual([
        '  leads: 50 rows in the list, and 91 before',
        '  steps[0] join: 5 rows in the list, and 10 before',
      ]);
      expect(await night({ leads: bridged(25), bridges: bridges(8) })).toMatchObject({ read: 25 });
    });

    test('goes on being refused until it is allowed, or was right again', async () => {
      await night({});
      await refused({ leads: bridged(10) });
      await refused({});
      await night({ leads: bridged(90) });
      await refused({ leads: bridged(40) });
      expect(await night({}, { options: { allowShrink: true } })).toMatchObject({ read: 40 });
      expect(await night({ leads: bridged(30) })).toMatchObject({ read: 30 });
    });

    test('is remembered although a run that was refused read everything afresh, under spool: off too', async () => {
      const body = `from: leads\nspool: off\n${toCsv}`;
      await night({}, { body });
      expect(await refused({ leads: [] }, { body })).toHaveLength(1);
    });

    test('is measured in rows of the list, whatever the steps leave', async () => {
      const filtered = `from: leads\nsteps:\n  - filter: bridge_id == '1'\n${toCsv}`;
      await night({}, { body: filtered });
      expect(await night({ leads: leads(100, () => ({ bridge_id: '2' })) }, { body: filtered })).toMatchObject({ read: 100 });
      expect((await refused({ leads: leads(20, () => ({ bridge_id: '1' })) }, { body: filtered }))[0]).toContain(
        '20 rows were read, and 100',
      );
    });

    test('is recognised at outputs whose paths change from run to run', async () => {
      const body = `from: leads\nto:\n  - csv: { path: 'out/{{ run.id }}.csv' }\nexpect: { max_shrink: 20% }`;
      await night({}, { body });
      await expect(night({ leads: bridged(70) }, { body })).rejects.toMatchObject({
        code: 'E_GATE_EXPECT',
        message: expect.stringContaining('found 70 rows, previously 100 (30% smaller)'),
      });
      await refused({ leads: [] }, { body });
    });
  });

  describe('what a list is compared with', () => {
    test('is the same list of the same service and account, where nothing stands at the output', async () => {
      const to = (name: string) => ({ body: `from: leads\nto:\n  - csv: { path: ${name}.csv }` });
      await night({}, to('one'));
      const accounts = [{ restApiKey: testKey }, { restApiKey: 'another-key-of-the-test' }];
      const other = await service(changing(lists), { accounts });
      expect(told(await night({ leads: [] }, { ...to('two'), env: other.env }))).toEqual([
        expect.stringContaining('W_SOURCE_EMPTY leads: '),
      ]);
      await night({ leads: bridged(100) }, { ...to('two'), env: other.env });
      const account = { ...other.env, LEADSTREAM_REST_API_KEY: 'another-key-of-the-test' };
      expect(await night({ leads: bridged(10) }, { ...to('three'), env: account })).toMatchObject({ read: 10 });
      await refused({}, { ...to('four'), env: other.env });
      await night({}, { ...to('four'), env: account });
    });

    test('is what the output that stands there was made of, after a new key or under another address too', async () => {
      await night({});
      const accounts = [{ restApiKey: testKey }, { restApiKey: 'another-key-of-the-test' }];
      const moved = await service(changing(lists), { accounts });
      expect((await refused({ leads: bridged(10) }, { env: moved.env }))[0]).toContain(
        'leads: 10 rows were read, and 100 by the earlier run',
      );
      await refused({}, { env: { ...moved.env, LEADSTREAM_REST_API_KEY: 'another-key-of-the-test' } });
    });

    test('is what another pipeline counted, where this one never read it', async () => {
      await night({}, { name: 'first', body: `from: bridges\nto:\n  - csv: { path: b.csv }` });
      const [line] = await refused({ bridges: [] });
      expect(line).toContain('bridges (steps[0] join): 0 rows were read, and 10 ');
    });

    test('is the manifest of the table that stands there, when the state folder is gone', async () => {
      const body = `from: leads\n${joined}${toTable}`;
      const { runId } = await night({}, { body });
      await rm(join(folder, 'state'), { recursive: true });
      const lines = await refused({ leads: bridged(10), bridges: [] }, { body });
      expect(lines.map((line) => line.split(';', 1)[0])).toEqual([
        `leads: 10 rows were read, and 100 by the earlier run ${runId}`,
        `bridges (steps[0] join): 0 rows were read, and 10 by the earlier run ${runId}`,
      ]);
    });

    test('is the manifest of the table that stands there, when that was rolled back', async () => {
      const body = `from: leads\n${toTable}`;
      await night({}, { body });
      await night({ leads: bridged(10) }, { body, options: { allowShrink: true } });
      await rollbackTable(join(folder, 't'), { stateDir: join(folder, 'state') });
      expect((await refused({}, { body }))[0]).toContain('leads: 10 rows were read, and 100 by the earlier run');
    });

    test('is kept of every run of one pipeline, though several with other outputs end at the same time', async () => {
      const names = ['a.csv', 'b.csv', 'c.csv', 'd.csv'];
      await Promise.all(names.map((name) => night({}, { body: `from: leads\nspool: off\n${toCsv.replace('leads.csv', name)}` })));
      const counts = JSON.parse(await readFile(join(folder, 'state/counts/test.json'), 'utf8')) as { readonly outputs: object };
      expect(Object.keys(counts.outputs).sort()).toEqual(names.map((name) => join(folder, name)));
    });

    test('is nothing for a first run, which publishes', async () => {
      const report = await night({ leads: bridged(1), bridges: bridges(1) });
      expect(news(report)).toEqual([]);
      expect(shrinkGates(report)).toEqual(['max_read_shrink: not compared', 'max_read_shrink: not compared']);
    });

    test.each([
      ['', ['max_read_shrink: not compared']],
      ['\nexpect: { max_shrink: 20%, max_growth: 900% }', ['max_read_shrink: not compared', 'expect.max_shrink: not compared']],
    ])('is told to be missing where an output stands that no run of the state folder made%s', async (gates, expected) => {
      const body = `from: leads\n${toCsv}${gates}`;
      await night({}, { body });
      const elsewhere = { stateDir: join(folder, 'elsewhere') };
      const report = await night({ leads: bridged(10) }, { body, options: elsewhere });
      expect(news(report)).toEqual([
        {
          code: 'W_GATE_BASELINE',
          message: expect.stringContaining(`${join(folder, 'leads.csv')} exists, but the state folder has no earlier count`),
        },
      ]);
      expect(shrinkGates(report)).toEqual(expected);
      expect(news(await night({}, { body, options: elsewhere }))).toEqual([]);
    });

    test('is not missed at a table, whose manifest has it, and not where the path is new', async () => {
      const body = `from: leads\n${toTable}\n  - csv: { path: '{{ run.id }}.csv' }\nexpect: { max_growth: 20% }`;
      await night({}, { body });
      const report = await night({}, { body, options: { stateDir: join(folder, 'elsewhere') } });
      expect(news(report)).toEqual([]);
    });

    test('is told to be missing when it cannot be read', async () => {
      await night({});
      await writeFile(join(folder, 'state', 'counts', 'test.json'), '{"version":1,"sour');
      const report = await night({ leads: bridged(10) });
      expect(report.warnings).toContainEqual({ code: 'W_RUN_COUNTS', message: expect.stringContaining('counts/test.json') });
      await refused({ leads: [] });
    });

    test('lies in a private folder and names no account', async () => {
      await night({});
      const counts = join(folder, 'state', 'counts');
      expect((await stat(counts)).mode & 0o777).toBe(0o700);
      const text = await readFile(join(counts, 'test.json'), 'utf8');
      expect(text).not.toContain(testKey);
      expect(
        Object.keys((JSON.parse(text) as { sources: object }).sources)
          .map((name) => name.replace(/-[0-9a-f]{32}$/, ''))
          .sort(),
      ).toEqual(['bridges', 'leads']);
      expect((await readdir(counts)).sort()).toEqual(['account.key', 'test.json']);
    });

    test('is neither read nor kept by a run that only prints', async () => {
      const body = 'from: leads\nto:\n  - stdout: {}';
      await cliRun(body);
      expect(await readdir(folder)).not.toContain('.leadstream');
    });
  });

  /** Runs a file by the command, in the folder of the test. */
  async function cliRun(body: string, ...words: string[]) {
    await writeFile(join(folder, 'p.yaml'), pipelineText(body));
    return cli(['run', 'p.yaml', '--set', 'service.end_wait=1ms', ...words], { cwd: folder, env: from.env });
  }

  describe('the end of a list, where the last run counted it', () => {
    test('waits for nothing behind as many rows, though the last page is full', async () => {
      await night({ leads: bridged(200) });
      const started = performance.now();
      expect(await night({}, { wait: '35s' })).toMatchObject({ read: 200 });
      expect(await night({ leads: bridged(201) }, { wait: '35s' })).toMatchObject({ read: 201 });
      expect(performance.now() - started).toBeLessThan(35_000);
    });

    test.each<[string, Lists]>([
      ['leads?page=3&limit=100', { leads: bridged(190) }],
      ['bridges?page=2&limit=100', { bridges: bridges(9) }],
    ])('waits before them, in lists that are joined too: %s', async (end, changes) => {
      await night({ leads: bridged(195) });
      const [stop, asked] = [new AbortController(), from.requests.length];
      const stopped = night(changes, { wait: '35s', options: { signal: stop.signal } });
      await from.until((requests) => requests.slice(asked).includes(end));
      // Without a wait the run is over by then.
      setTimeout(() => stop.abort(), 400);
      await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    });
  });

  describe('what the file allows', () => {
    const allowing = (most: string) => ({ body: `from: leads\n${joined}${toCsv}\nexpect: { max_read_shrink: ${most} }` });

    test('is a share for all lists', async () => {
      await night({});
      await night({ leads: bridged(20), bridges: bridges(2) }, allowing('80%'));
      await refused({ leads: bridged(3) }, allowing('80%'));
      await night({ leads: [], bridges: [] }, allowing('100%'));
    });

    test('is a share by list, and the default for others', async () => {
      await night({});
      await night({ bridges: [] }, allowing('{ bridges: 100% }'));
      await refused({ leads: bridged(40) }, allowing('{ bridges: 100% }'));
    });

    test('can be less than the default', async () => {
      await night({});
      expect((await refused({ leads: bridged(89) }, allowing('10%')))[0]).toContain('a drop of more than 10%');
      await night({ leads: bridged(90) }, allowing('10%'));
    });

    test.each([
      ['max_read_shrink: 80', 'p.yaml:13:20 ', 'a share is written like 20%'],
      ['max_read_shrink: 101%', 'p.yaml:13:20 ', 'nothing shrinks by more than 100%'],
      ['max_read_shrink: { leads: 200% }', 'p.yaml:13:', 'nothing shrinks by more than 100%'],
      ['max_shrink: 200%', 'p.yaml:13:15 ', 'nothing shrinks by more than 100%'],
      ['max_read_shrink: { bridge: 80% }', 'p.yaml:13:22 ', "bridge is not read here; did you mean 'bridges'?"],
      ['max_read_shrink: { links: 80% }', 'p.yaml:13:22 ', 'links is not read here; this pipeline reads leads, bridges'],
    ])('is checked before anything is read: %s', async (gate, place, message) => {
      const text = pipelineText(`from: leads\n${joined}${toCsv}\nexpect:\n  ${gate}`);
      const parsing = parsePipeline(text, 'p.yaml', { env: from.env });
      await expect(parsing).rejects.toThrow(SpecError);
      await expect(parsing).rejects.toThrow(message);
      await expect(parsing).rejects.toThrow(place);
    });

    test('is opened once by run --allow-shrink, for max_shrink too', async () => {
      const body = `from: leads\n${toTable}\nexpect: { max_shrink: 20% }`;
      expect(await cliRun(body)).toMatchObject({ code: 0 });
      lists.leads = bridged(10);
      expect(await cliRun(body)).toMatchObject({ code: 65, stderr: expect.stringContaining('run --allow-shrink') });
      expect(await cliRun(body, '--allow-shrink')).toMatchObject({ code: 0 });
      expect(await cliRun(body)).toMatchObject({ code: 0 });
    });

    test.each<[string, number, readonly string[]]>([
      ['max_shrink: 20%', 40, ['max_read_shrink: overridden', 'expect.max_shrink: overridden']],
      ['max_read_shrink: 50%', 49, ['max_read_shrink: overridden']],
      ['max_shrink: 20%', 90, ['max_read_shrink: passed', 'expect.max_shrink: passed']],
      ['max_shrink: 20%', 70, ['max_read_shrink: passed', 'expect.max_shrink: overridden']],
    ])('leaves its trace in report and summary, and only where it was needed: %s at %i rows', async (gate, rows, expected) => {
      const body = `from: leads\n${toCsv}\nexpect: { ${gate} }`;
      await night({}, { body });
      const report = await night({ leads: bridged(rows) }, { body, options: { allowShrink: true } });
      expect(shrinkGates(report)).toEqual(expected);
      const overridden = expected.filter((line) => line.endsWith('overridden'));
      expect(news(report).map(({ code }) => code)).toEqual(overridden.map(() => 'W_GATE_OVERRIDDEN'));
      expect(summaryOf(report).match(/WARNING: overridden by --allow-shrink: .*100/g) ?? []).toHaveLength(overridden.length);
    });

    test('is named by a gate of an output that only --allow-shrink opens', async () => {
      const body = `from: leads\n${toCsv}\nexpect: { max_shrink: 20% }`;
      await night({}, { body });
      await expect(night({ leads: bridged(70) }, { body })).rejects.toMatchObject({
        code: 'E_GATE_EXPECT',
        message: expect.stringMatching(/found 70 rows, previously 100 \(30% smaller\); run --allow-shrink publishes it once$/),
      });
    });

    test('is allowed under strict, too', async () => {
      const strict = async (rows: number, options: RunOptions) => {
        const { env } = await service(generate({ leads: rows, bridges: 5, seed: 7 }));
        const text = pipelineText(`from: leads\n${toCsv}`).replace('  limit: 100', '  limit: 100\n  strict: true');
        const pipeline = await parsePipeline(text, 'p.yaml', { env, baseDir: folder });
        return runPipeline(pipeline, { stateDir: join(folder, 'state'), ...options });
      };
      await strict(100, {});
      await expect(strict(10, {})).rejects.toMatchObject({ code: 'E_GATE_SHRINK' });
      expect(news(await strict(10, { allowShrink: true }))).toMatchObject([{ code: 'W_GATE_OVERRIDDEN' }]);
    });
  });

  describe('what is empty or joins to nothing without a memory', () => {
    test('is a warning in summary and report: the list that is read', async () => {
      const report = await night({ leads: [] });
      expect(told(report)).toEqual(['W_SOURCE_EMPTY leads: no rows were read, and there is no earlier count to compare with']);
      expect(summaryOf(report)).toContain('WARNING: leads: no rows were read');
    });

    test('is a warning in summary and report: the other side of a join', async () => {
      const report = await night({ bridges: [] });
      expect(told(report)).toEqual([
        'W_SOURCE_EMPTY bridges (steps[0] join): no rows were read, and there is no earlier count to compare with',
      ]);
      expect(summaryOf(report)).toContain('WARNING: bridges (steps[0] join): no rows were read');
      expect(report.sides).toMatchObject([{ collection: 'bridges', rows: 0 }]);
    });

    test('is no news when it was so before', async () => {
      await night({ bridges: [] });
      expect(told(await night({}))).toEqual([]);
    });

    test('is a failure under strict', async () => {
      const failure = night({ bridges: [] }, { body: `from: leads\n${joined}${toCsv}`, options: {} });
      expect(told(await failure)).toHaveLength(1);
      const text = pipelineText(`from: users\n${toCsv}`).replace('  limit: 100', '  limit: 100\n  strict: true');
      const pipeline = await parsePipeline(text, 'p.yaml', { env: from.env, baseDir: folder, set: { 'service.end_wait': '1ms' } });
      await expect(runPipeline(pipeline, { stateDir: join(folder, 'state') })).rejects.toMatchObject({ code: 'E_GATE_STRICT' });
    });

    test('is a warning where every row is rejected, by a step or by the sink', async () => {
      const step = `from: leads\nsteps:\n  - cast: { types: { email: integer } }\n${toCsv}\nrejects: { max: 100% }`;
      lists.leads = leads(100, () => ({ email: 'a@b' }));
      expect(news(await night({}, { body: step }))).toEqual([
        {
          code: 'W_SINK_EMPTY',
          message: 'to[0] csv: no row was written, because steps[0] cast rejected every row (100); a lower rejects.max would refuse this',
        },
      ]);
    });

    test('is a warning where a filter keeps nothing, which names the gate', async () => {
      const body = `from: leads\nsteps:\n  - filter: lead_status == 'gone'\n  - dedupe: { by: [email] }\n${toCsv}`;
      const report = await night({}, { body });
      expect(told(report)).toEqual(['W_STEP_EMPTY steps[0] filter: none of 100 rows is kept; expect.min_rows refuses that']);
      expect(summaryOf(report)).toContain('WARNING: steps[0] filter: none of 100 rows');
      expect(told(await night({}, { body: `${body}\nexpect: { min_rows: 0 }` }))).toEqual([]);
    });

    test('is no warning where a filter keeps one row, or none came', async () => {
      const kept = (condition: string) => `from: leads\nsteps:\n  - filter: lead_id == '0'\n  - filter: ${condition}\n${toCsv}`;
      expect(told(await night({}, { body: kept('true') }))).toEqual([]);
      expect(told(await night({}, { body: kept('false') }))).toEqual([expect.stringContaining('steps[1] filter: none of 1 row')]);
      const twice = `from: leads\nsteps:\n  - filter: 'false'\n  - filter: 'false'\n${toCsv}`;
      expect(told(await night({}, { body: twice }))).toEqual([expect.stringContaining('steps[0] filter')]);
    });

    test.each(['left', 'inner'])('is a warning where a %s join finds nothing, which names the gate', async (type) => {
      const body = (more = '') => `from: leads\n${joined.replace('as: b', `as: b, type: ${type}${more}`)}${toCsv}`;
      const changed = { bridges: bridges(10).map((bridge) => ({ ...bridge, id: `x${bridge.id}` })) };
      const report = await night(changed, { body: body() });
      expect(told(report)).toEqual(['W_STEP_NO_MATCH steps[0] join: none of 100 rows found a match in bridges; min_match refuses that']);
      expect(summaryOf(report)).toContain('WARNING: steps[0] join: none of 100 rows');
      expect(told(await night({}, { body: body(', min_match: 0%') }))).toEqual([]);
    });
  });
});
