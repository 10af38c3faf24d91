import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import {
  explainRow,
  failedRunOf,
  LeadstreamError,
  loadPipeline,
  runPipeline,
  type Pipeline,
  type RowExplanation,
  type RunReport,
} from '../../src/index.js';
import { pipelineText, serviceOf } from '../support/services.js';
import { temporaryFolder, visible } from '../support/temporary.js';

/** A record, the file that it is led through, and what came before. */
interface Case {
  /** Other values of the record. */
  readonly lead?: Readonly<Record<string, string>>;
  readonly steps?: readonly string[];
  readonly to?: readonly string[];
  readonly more?: readonly string[];
  /** A record that an earlier run published. */
  readonly before?: Readonly<Record<string, string>>;
  /** Spoils what an earlier run left. */
  readonly spoil?: (folder: string) => Promise<unknown>;
  /** The code that a run fails with. */
  readonly code?: string;
}

const select = 'select: [lead_id, age, lead_status]';
const lake = (more = '') => `parquet: { path: lake${more} }`;
const unfit = { age: 'old' };
const append = lake(', mode: append');
const byStatus = lake(', mode: append, key: [lead_status]');
const lone = 'lone \ud800';
const long = 'x'.repeat(300);

/** Steps that make two rows of one. */
const two = ['derive: { k: "\'7\'" }', 'join: { with: bridges, on: { k: niche }, as: b, select: [title], pick: all }'];

const cases: Readonly<Record<string, Case>> = {
  'a row that is written': {},
  'a row that a filter drops': { steps: ["filter: lead_status == 'none'"] },
  'a row without a match of an inner join': {
    steps: ['join: { with: bridges, on: { bridge_id: id }, as: b, select: [title], type: inner }'],
  },
  'a row of several matches': {
    steps: ['derive: { k: "\'7\'" }', 'join: { with: bridges, on: { k: niche }, as: b, select: [title], pick: all }'],
  },
  'several matches, of which one is wanted': {
    steps: ['derive: { k: "\'7\'" }', 'join: { with: bridges, on: { k: niche }, as: b, select: [title] }'],
    code: 'E_STEP_MATCHES',
  },
  'several rows of which one is rejected where none may be': {
    steps: [...two, "derive: { x: \"num(b_title == 'Solar' ? 'abc' : '1')\" }"],
    more: ['rejects: { max: 0 }'],
    code: 'E_GATE_REJECTS',
  },
  'several rows of which as many are rejected as may be': {
    steps: [...two, "derive: { x: \"num(b_title == 'Solar' ? 'abc' : '1')\" }"],
    more: ['rejects: { max: 1 }'],
  },
  'several rows that are rejected, more than may be': {
    steps: [...two, 'derive: { x: num(b_title) }'],
    more: ['rejects: { max: 1 }'],
    code: 'E_GATE_REJECTS',
  },
  'several rows of which one has no match where all have one': {
    steps: [
      ...two,
      "derive: { l: \"b_title == 'Auto' ? '1' : 'none'\" }",
      'join: { with: bridges, on: { l: id }, as: c, select: [title], min_match: 100% }',
    ],
    code: 'E_GATE_MATCH',
  },
  'a row that a sample leaves out': { steps: ['sample: { percent: 0.0001 }'] },
  'a row of a group': { steps: ['aggregate: { by: [lead_status], compute: { leads: count() } }'] },
  'a row that a step rejects': { lead: unfit, steps: ['cast: { types: { age: integer } }'] },
  'a value that a step makes null': { lead: unfit, steps: ['cast: { types: { age: integer } }'], more: ['on_error: null'] },
  'a value that a step fails by': {
    lead: unfit,
    steps: ['cast: { types: { age: integer } }'],
    more: ['on_error: fail'],
    code: 'E_STEP_VALUE',
  },
  'a type that an output rejects': { lead: unfit, to: [lake()] },
  'a type that an output makes null': { lead: unfit, to: [lake(', on_error: null')] },
  'a type that an output fails by': { lead: unfit, to: [lake(', on_error: fail')], code: 'E_SINK_VALUE' },
  'a whole number of more than 64 bits': { lead: { age: '9223372036854775808' }, to: [lake()] },
  'a 64-bit integer': { lead: { age: '9223372036854775807' }, to: [lake()] },
  'a whole number that an engine cannot write': { lead: { age: '9007199254740993' }, to: [lake(', engine: parquetjs-lite')] },
  'an instant that is none': { lead: { timestamp: '99999999999999999999' }, steps: ['select: [lead_id, timestamp]'], to: [lake()] },
  'a lone surrogate in CSV': { lead: { lead_status: lone } },
  'a lone surrogate in Parquet': { lead: { lead_status: lone }, to: [lake()] },
  'a lone surrogate in JSON': { lead: { lead_status: lone }, to: ['ndjson: { path: out.ndjson }'] },
  'a NUL character in CSV': { steps: ['derive: { n: "\'a\\\\u0000b\'" }'] },
  'a NUL character in CSV on stdout': { steps: ['derive: { n: "\'a\\\\u0000b\'" }'], to: ['stdout: { format: csv, on_error: null }'] },
  'a NUL character in JSON': { steps: ['derive: { n: "\'a\\\\u0000b\'" }'], to: ['ndjson: { path: out.ndjson }'] },
  'a value too long for a folder': { lead: { lead_status: long }, to: [lake(', partition_by: [lead_status]')] },
  'a value that folders have for null': {
    lead: { lead_status: '__HIVE_DEFAULT_PARTITION__' },
    to: [lake(', partition_by: [lead_status], on_error: null')],
  },
  'an empty key of an append': { lead: { lead_status: '' }, to: [byStatus] },
  'an empty key of an append, which is never null': {
    lead: { lead_status: '' },
    to: [lake(', mode: append, key: [lead_status], on_error: null')],
  },
  'an empty key of an append, under fail': {
    lead: { lead_status: '' },
    to: [lake(', mode: append, key: [lead_status], on_error: fail')],
    code: 'E_SINK_VALUE',
  },
  'a key that an append has not': { to: [append], before: { lead_id: '2' } },
  'a key that an append has': { to: [append], before: {} },
  'a key that an append has with other content': { to: [append], before: { lead_status: 'new' } },
  'a key that comes twice in an append': {
    steps: ['derive: { k: "\'7\'" }', 'join: { with: bridges, on: { k: niche }, as: b, select: [title], pick: all }'],
    to: [lake(', mode: append, key: [lead_id]')],
    code: 'E_SINK_KEY',
  },
  'a table with a column that the rows have not': {
    to: [append],
    before: {},
    spoil: (folder) => edited(folder, (text) => text.replace('[lead_id, age, lead_status]', '[lead_id, age]')),
    code: 'E_GATE_SCHEMA',
  },
  'a table that is none': { to: [lake()], spoil: (folder) => writeFile(join(folder, 'lake'), ''), code: 'E_SINK_FOREIGN' },
  'a folder in the place of a file': { spoil: (folder) => mkdir(join(folder, 'out.csv')), code: 'E_SINK_PATH' },
  'a file in the place of a folder': {
    to: ['ndjson: { path: way/out.ndjson }'],
    spoil: (folder) => writeFile(join(folder, 'way'), ''),
    code: 'E_SINK_PATH',
  },
  'a file in the place of the folder of a table': {
    to: [lake().replace('lake', 'way/lake')],
    spoil: (folder) => writeFile(join(folder, 'way'), ''),
    code: 'E_SINK_PATH',
  },
  'a table that was altered': { to: [append], before: { lead_id: '2' }, spoil: alteredTable, code: 'E_GATE_VERIFY' },
  'several outputs of which one refuses': {
    lead: unfit,
    to: ['csv: { path: out.csv }', lake(), lake(', on_error: null').replace('lake', 'sea')],
  },
  'a rejected row where none may be': { lead: unfit, to: [lake()], more: ['rejects: { max: 0 }'], code: 'E_GATE_REJECTS' },
  'an empty column that must not be': { lead: { age: '' }, more: ['expect: { not_null: [age] }'], code: 'E_GATE_EXPECT' },
  'an empty column that may be nowhere': { lead: { age: '' }, more: ['expect: { max_null: { age: 0 } }'], code: 'E_GATE_EXPECT' },
  'a value that is not accepted': { more: ['expect: { accepted_values: { lead_status: [new] } }'], code: 'E_GATE_EXPECT' },
  'a value that comes twice': {
    steps: ['derive: { k: "\'7\'" }', 'join: { with: bridges, on: { k: niche }, as: b, select: [title], pick: all }'],
    more: ['expect: { unique: [lead_id] }'],
    code: 'E_GATE_EXPECT',
  },
  'a row without a match where all have one': {
    steps: ['join: { with: bridges, on: { bridge_id: id }, as: b, select: [title], min_match: 100% }'],
    code: 'E_GATE_MATCH',
  },
};

async function alteredTable(folder: string): Promise<void> {
  const runs = join(folder, '.lake.runs');
  const [manifest = ''] = (await readdir(runs)).filter((name) => name.endsWith('.manifest.json'));
  await appendFile(join(runs, manifest), '\n');
}

async function edited(folder: string, change: (text: string) => string): Promise<void> {
  const path = join(folder, 'p.yaml');
  await writeFile(path, change(await readFile(path, 'utf8')));
}

const record = { lead_id: '1', bridge_id: '9', age: '41', lead_status: 'sold', timestamp: '1672531200' };
const bridges = [
  { id: '1', title: 'Auto', niche: '7' },
  { id: '2', title: 'Solar', niche: '7' },
];

/** What one record alone never is. */
const ofSeveral: readonly string[] = ['duplicates', 'beyondLimit'];

/** Where rows come from, and not what becomes of them. */
const origins: readonly string[] = ['read', 'repaired', 'expanded', 'groups'];

/** The counts of the books of all cases, and those of them that counted anything. */
const [counts, seen] = [new Set<string>(), new Set<string>()];

/** What the books of a run and an explanation have in common. */
interface Told {
  readonly dropped: boolean;
  readonly nulled: number;
  readonly sinks: readonly Readonly<Record<'written' | 'unchanged' | 'changed' | 'rejected' | 'nulled', number>>[];
}

function toldByRun({ steps, sinks }: RunReport): Told {
  return {
    dropped: steps.some(({ tally }) => tally.filtered + tally.unmatched > 0),
    nulled: sum(steps.map(({ tally }) => tally.nulled)),
    sinks: sinks.map(({ changed, nulled, books: { written, unchanged, rejected } }) => ({ written, unchanged, changed, rejected, nulled })),
  };
}

function toldByExplanation({ plan }: Pipeline, { steps, outputs }: RowExplanation): Told {
  const rejected = sum(steps.map((step) => step.rejected));
  const none = { written: 0, unchanged: 0, changed: 0, rejected: 0, nulled: 0 };
  const all = outputs.length > 0 ? outputs.map((output) => output.counts) : plan.sinks.map(() => none);
  return {
    dropped: steps.some(({ outcome }) => outcome === 'dropped'),
    nulled: sum(steps.map(({ nulled }) => nulled)),
    sinks: all.map((each) => ({ ...each, rejected: each.rejected + rejected })),
  };
}

/** By what a run fails, as the explanation says. */
function failuresIn({ steps, outputs, gates }: RowExplanation): readonly string[] {
  const failed = [...steps, ...outputs].flatMap(({ outcome, reason }) => (outcome === 'failed' ? [reason ?? ''] : []));
  return [...failed, ...gates.map(({ gate }) => gateCodes[gate.replace(/\..*/, '')] ?? gate)];
}

const gateCodes: Readonly<Record<string, string>> = { rejects: 'E_GATE_REJECTS', expect: 'E_GATE_EXPECT', min_match: 'E_GATE_MATCH' };

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

describe('explain-row tells what a run of that record alone does with', () => {
  test.each(Object.entries(cases))(
    '%s',
    async (_name, { lead, steps = [], to = ['csv: { path: out.csv }'], more = [], before, spoil, code }) => {
      const cwd = await temporaryFolder();
      const lines = (items: readonly string[]) => items.map((item) => `  - ${item}`);
      const steady = more.some((line) => line.startsWith('rejects')) ? more : [...more, 'rejects: { max: 100% }'];
      const chain = steps.some((step) => /^(select|aggregate)/.test(step)) ? steps : steps.length > 0 ? steps : [select];
      await writeFile(
        join(cwd, 'p.yaml'),
        pipelineText(['from: leads', ...steady, 'steps:', ...lines(chain), 'to:', ...lines(to)].join('\n')),
      );
      const load = async (own: object) => {
        const { env } = await serviceOf({ leads: [{ ...record, ...own }], bridges });
        return loadPipeline('p.yaml', { cwd, env, stateDir: join(cwd, '.leadstream') });
      };
      if (before) await runPipeline(await load(before), { allowShrink: true });
      await spoil?.(cwd);
      const stood = await visible(cwd);
      const pipeline = await load(lead ?? {});
      const explanation = await explainRow(pipeline, [lead?.['lead_id'] ?? record.lead_id]);
      expect(await visible(cwd)).toEqual(stood);
      const ended = await runPipeline(pipeline, { allowShrink: true, stdout: new PassThrough().resume() }).then(
        (report) => ({ report, code: undefined }),
        (failure: unknown) => ({ report: failedRunOf(failure), code: failure instanceof LeadstreamError ? failure.code : failure }),
      );
      expect(ended.code).toBe(code);
      expect(failuresIn(explanation)).toEqual(code === undefined ? [] : [expect.stringContaining(code)]);
      const { report } = ended;
      if (!report || (code !== undefined && !code.startsWith('E_GATE_'))) return;
      if (report.sinks.length > 0) expect(toldByExplanation(pipeline, explanation)).toEqual(toldByRun(report));
      for (const [count, rows] of report.sinks.flatMap(({ books }) => Object.entries<number>({ ...books }))) {
        counts.add(count);
        if (rows > 0) seen.add(count);
      }
    },
  );

  test('every outcome that the books of a run have', () => {
    expect([...counts].filter((count) => !seen.has(count) && !ofSeveral.includes(count) && !origins.includes(count))).toEqual([]);
    expect(seen).toContain('unchanged');
  });
});
