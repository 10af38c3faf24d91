import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { failedRunOf, parsePipeline, recoverRuns, runPipeline, type RunOptions, type RunReport } from '../../../src/pipeline/index.js';
import type { Lists } from '../../support/changing.js';
import { bridged, bridges, changingLists, joined, toCsv, toTable } from '../../support/changing-lists.js';
import { leads } from '../../support/pipelines.js';
import { pipelineText, type LoggedService } from '../../support/services.js';

let lists: Lists;
let from: LoggedService;
let folder: string;

interface Night extends RunOptions {
  readonly name?: string;
  readonly strict?: boolean;
  /** State folder. */
  readonly state?: string;
}

/** One night: what the service has by then. */
async function night(changes: Lists, body: string, { name = 'test', strict = false, state = 'state', ...options }: Night = {}) {
  Object.assign(lists, changes);
  const text = pipelineText(body).replace('name: test', `name: ${name}`);
  const set = { 'service.retry.base': '1ms', 'service.end_wait': '1ms', 'service.strict': String(strict) };
  const pipeline = await parsePipeline(text, 'p.yaml', { env: from.env, baseDir: folder, set });
  return runPipeline(pipeline, { stateDir: join(folder, state), ...options });
}

/** The report and the message of a night that published nothing. */
async function refused(...how: Parameters<typeof night>) {
  const failure: unknown = await night(...how).catch((error: unknown) => error);
  const report = failedRunOf(failure);
  if (!(failure instanceof Error) || report === undefined) throw new Error('the night was published');
  return { report, message: failure.message };
}

const shrinkGates = ({ gates }: Pick<RunReport, 'gates'>) =>
  gates.filter(({ gate }) => gate === 'max_read_shrink').map(({ at, outcome }) => `${at}: ${outcome}`);

/** Warnings of what is not so in every run of the test. */
const news = ({ warnings }: Pick<RunReport, 'warnings'>) =>
  warnings.filter(({ code }) => code !== 'W_SOURCE_FIELD_GONE' && code !== 'W_RUN_PARTIAL');
const codes = (report: Pick<RunReport, 'warnings'>) => news(report).map(({ code }) => code);

describe('baselines', () => {
  beforeEach(async () => {
    ({ lists, from, folder } = await changingLists());
  });

  describe('a list of which no count is known', () => {
    const body = `from: leads\n${joined}${toCsv}`;

    test('is not passed for compared, and warned of, where another list has a count', async () => {
      await night({}, body);
      await night({}, 'from: bridges\nto:\n  - csv: { path: bridges.csv }', { name: 'other', state: 'new' });
      const report = await night({ leads: bridged(3) }, body, { state: 'new' });
      expect(shrinkGates(report)).toEqual(['leads: not compared', 'steps[0] join: passed']);
      expect(news(report)).toEqual([
        {
          code: 'W_GATE_BASELINE',
          message: expect.stringContaining(`${join(folder, 'leads.csv')} exists, but the state folder has no earlier count`),
        },
      ]);
    });

    test('is no news where the join is new in a pipeline whose runs are known', async () => {
      await night({}, `from: leads\n${toCsv}`);
      const report = await night({}, body);
      expect(shrinkGates(report)).toEqual(['leads: passed', 'steps[0] join: not compared']);
      expect(news(report)).toEqual([]);
    });

    test('is refused by name, beside one that passes', async () => {
      await night({}, body);
      const { report } = await refused({ bridges: bridges(2) }, body);
      expect(shrinkGates(report)).toEqual(['leads: passed', 'steps[0] join: refused']);
    });

    test('is warned of where an earlier version kept the count of the output alone', async () => {
      await night({}, body);
      const path = join(folder, 'state', 'counts', 'test.json');
      const kept = JSON.parse(await readFile(path, 'utf8')) as { outputs: Record<string, { reads?: unknown }> };
      for (const output of Object.values(kept.outputs)) delete output.reads;
      await writeFile(path, JSON.stringify({ ...kept, sources: {} }));
      expect(codes(await night({ leads: bridged(3) }, body))).toEqual(['W_GATE_BASELINE']);
    });
  });

  describe('what stands at an output and is no baseline', () => {
    test('is a table that says that it is a part', async () => {
      expect(shrinkGates(await night({}, `from: leads\nsteps:\n  - limit: 10\n${toTable}`))).toEqual(['leads: not compared']);
      const report = await night({}, `from: leads\n${toTable}`);
      expect(news(report)).toEqual([]);
      expect(shrinkGates(report)).toEqual(['leads: not compared']);
    });

    test('is a file that a run of this state folder filled with a part', async () => {
      const trial = `from: leads\nsteps:\n  - limit: 10\n${toCsv}`;
      await night({}, trial);
      expect(news(await night({}, `from: leads\n${toCsv}`))).toEqual([]);
      await night({}, trial, { allowPartial: true });
      expect((await refused({ leads: bridged(20) }, `from: leads\n${toCsv}`)).message).toContain(
        '20 rows were read, and 100 by the earlier run',
      );
      expect(codes(await night({}, `from: leads\n${toCsv}`, { state: 'new' }))).toEqual(['W_GATE_BASELINE']);
    });

    test('is an empty folder, which a part may replace, too', async () => {
      await mkdir(join(folder, 't'));
      expect(news(await night({}, `from: leads\nsteps:\n  - limit: 10\n${toTable}`))).toEqual([]);
      await mkdir(join(folder, 'u'));
      expect(news(await night({}, `from: leads\n${toTable.replace('path: t', 'path: u')}`))).toEqual([]);
    });
  });

  describe('the counts of a commit that was cut short', () => {
    const body = `from: leads\n${toCsv}`;

    /** A first run that was logged, while something stood in the way of its output. */
    async function cutShort() {
      const inTheWay = join(folder, 'leads.csv');
      const watch = {
        page: () => {
          mkdirSync(inTheWay, { recursive: true });
          writeFileSync(join(inTheWay, 'file'), '');
        },
      };
      await expect(night({}, body, { watch })).rejects.toMatchObject({ code: 'E_SINK_WRITE' });
      expect(await readdir(join(folder, 'state', 'counts'))).not.toContain('test.json');
      rmSync(inTheWay, { recursive: true });
    }

    test('are kept by the run that recovers it', async () => {
      await cutShort();
      const { report, message } = await refused({ leads: bridged(3) }, body);
      expect(codes(report)).toEqual(['W_RUN_RECOVERED']);
      expect(message).toContain('leads: 3 rows were read, and 100 by the earlier run');
    });

    test('are kept by recoverRuns', async () => {
      await cutShort();
      await recoverRuns(join(folder, 'state'));
      expect(codes(await night({}, body))).toEqual([]);
    });

    test('are not kept over counts that are damaged, of which the next run tells', async () => {
      await cutShort();
      await writeFile(join(folder, 'state', 'counts', 'test.json'), '{', { mode: 0o600 });
      await recoverRuns(join(folder, 'state'));
      expect(codes(await night({}, body))).toEqual(['W_RUN_COUNTS', 'W_GATE_BASELINE']);
      expect(codes(await night({}, body))).toEqual([]);
    });
  });

  describe('under strict', () => {
    const body = `from: users\n${toCsv.replace('leads', 'users')}`;
    const users = (count: number) => Array.from({ length: count }, (_, uid) => ({ uid: String(uid), email: 'a@b', affid: '1' }));

    test('an output that stands without a count is published once by --allow-shrink, and has one from then on', async () => {
      await night({ users: users(4) }, body);
      const how = { strict: true, state: 'new' };
      for (const _ of [1, 2]) {
        const { message } = await refused({}, body, how);
        expect(message).toMatch(/^W_GATE_BASELINE: .* \(run --allow-shrink publishes it once\)$/);
      }
      expect(codes(await night({}, body, { ...how, allowShrink: true }))).toEqual(['W_GATE_BASELINE']);
      expect(codes(await night({}, body, how))).toEqual([]);
    });

    test('an empty list without a count is published once by --allow-shrink, and has one from then on', async () => {
      const how = { strict: true };
      expect((await refused({ users: [] }, body, how)).message).toMatch(/^W_SOURCE_EMPTY: .* \(run --allow-shrink publishes it once\)$/);
      expect(codes(await night({}, body, { ...how, allowShrink: true }))).toEqual(['W_SOURCE_EMPTY']);
      expect(codes(await night({}, body, how))).toEqual([]);
    });

    test('--allow-shrink lets nothing else pass', async () => {
      await refused({ users: users(4) }, `${body}\nsteps: [{ filter: uid == 'x' }]`, { strict: true, allowShrink: true });
    });
  });

  describe('what --allow-shrink overrides', () => {
    const body = (more = '') => `from: leads\n${toCsv}${more}`;

    test('is a warning of a run that publishes, and none where another gate refuses', async () => {
      await night({}, body());
      const { report } = await refused({ leads: bridged(10) }, body('\nexpect: { min_rows: 50 }'), { allowShrink: true });
      expect(shrinkGates(report)).toEqual(['leads: overridden']);
      expect(codes(report)).toEqual([]);
      expect(codes(await night({}, body(), { allowShrink: true }))).toEqual(['W_GATE_OVERRIDDEN']);
    });
  });

  describe('an output without a row', () => {
    const cast = '  - cast: { types: { email: integer } }\n';
    const empty = (steps: string) => night({}, `from: leads\nsteps:\n${steps}${toCsv}\nrejects: { max: 100% }`);

    beforeEach(() => {
      lists.leads = leads(100, (index) => ({ email: index === 0 ? 'a@b' : '5', age: 'old' }));
    });

    test('is put down to the step that rejected what came to it', async () => {
      expect(news(await empty(`  - filter: lead_id == '0'\n${cast}`))).toEqual([
        {
          code: 'W_SINK_EMPTY',
          message: 'to[0] csv: no row was written, because steps[1] cast rejected every row (1); a lower rejects.max would refuse this',
        },
      ]);
    });

    test('is not put down to rejects where a filter takes the rest', async () => {
      expect(codes(await empty(`${cast}  - filter: email == 7\n`))).toEqual(['W_STEP_EMPTY']);
    });

    test('is not told beside the gate that refuses the rejects', async () => {
      const { report, message } = await refused(
        {},
        `from: leads\nsteps:\n  - filter: lead_id == '0'\n${cast}${toCsv}\nrejects: { max: 0 }`,
      );
      expect(message).toContain('1 of 100 rows was rejected');
      expect(codes(report)).toEqual([]);
    });

    test('is put down to the sink that rejected what came to it', async () => {
      const body = `from: leads\nsteps:\n  - filter: lead_id == '0'\nto:\n  - parquet: { path: t }\nrejects: { max: 100% }`;
      expect(news(await night({}, body))).toMatchObject([
        {
          code: 'W_SINK_EMPTY',
          message: 'to[0] parquet: no row was written, because it rejected every row (1); a lower rejects.max would refuse this',
        },
      ]);
    });
  });
});
