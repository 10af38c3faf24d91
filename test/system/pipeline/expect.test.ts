import { readdir } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { GateError, SpecError } from '../../../src/core/errors.js';
import { openExpectations } from '../../../src/pipeline/gates/expectations.js';
import { parsePipeline, runPipeline } from '../../../src/pipeline/index.js';
import { pipelineText, serviceOf } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';
import { lead, leads, pipelineFor, runIn } from '../../support/pipelines.js';

const env = { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
const to = 'to:\n  - csv: { path: leads.csv }';

/** The lines of the gates that refused, or none after a run that published. */
async function refused(rows: readonly object[], gates: string, steps = ''): Promise<readonly string[]> {
  const [from, folder] = [await serviceOf({ leads: rows.map((row) => ({ ...row })) }), await temporaryFolder()];
  try {
    await runIn(from, `from: leads\n${steps}${to}\nexpect:\n${gates}`, folder);
    return [];
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    expect(error).toMatchObject({ code: 'E_GATE_EXPECT', exit: 65 });
    expect(await visible(folder)).toEqual([]);
    return error.message.split('\n');
  }
}

describe('what a file expects', () => {
  test.each([
    ['  min_rows: 10', 'p.yaml', undefined],
    ['  min_row: 10', 'p.yaml:11:3', "unknown key 'min_row', did you mean 'min_rows'?"],
    ['  min_rows: many', 'p.yaml:11:13', 'expected a number'],
    ['  max_shrink: 20', 'p.yaml:11:15', 'a share is written like 20%'],
    ['  max_null: { emial: 5% }', 'p.yaml:11:15', "there is no column 'emial' after the last step, did you mean 'email'?"],
    ['  max_null: { email: few }', 'p.yaml:11:22', 'written like 1% or 100'],
    ['  not_null: [lead_id, lead_idd]', 'p.yaml:11:23', "did you mean 'lead_id'?"],
    ['  not_null: [lead_id, uid, lead_id]', 'p.yaml:11:28', "'lead_id' is listed twice; list it once"],
    ['  unique: [lead_id, [lead_id]]', 'p.yaml:11:21', "'lead_id' is listed twice"],
    ['  unique: [[uid, zipcode, uid]]', 'p.yaml:11:27', "'uid' is listed twice"],
    ['  unique: [lead_id, [uid, zipcod]]', 'p.yaml:11:27', "did you mean 'zipcode'?"],
    ['  accepted_values: { lead_stats: [sold] }', 'p.yaml:11:22', "did you mean 'lead_status'?"],
    ['  accepted_values: { lead_status: [] }', 'p.yaml:11:35', 'must have at least one entry'],
  ])('is checked before anything is read: %s', async (gates, place, message) => {
    const parsing = parsePipeline(pipelineText(`from: leads\n${to}\nexpect:\n${gates}`), 'p.yaml', { env });
    if (message === undefined) expect((await parsing).expect).toEqual({ min_rows: 10 });
    else {
      await expect(parsing).rejects.toThrow(SpecError);
      await expect(parsing).rejects.toThrow(`${place} `);
      await expect(parsing).rejects.toThrow(message);
    }
  });

  test('is about the columns that leave the last step', async () => {
    const parse = (gates: string) =>
      parsePipeline(pipelineText(`from: leads\nsteps:\n  - rename: { lead_id: id }\n${to}\nexpect:\n${gates}`), 'p.yaml', { env });
    expect((await parse('  not_null: [id]')).expect).toEqual({ not_null: ['id'] });
    await expect(parse('  not_null: [lead_id]')).rejects.toThrow("p.yaml:13:14 there is no column 'lead_id' after the last step");
  });

  test('is told beside other problems of the file', async () => {
    const text = pipelineText('from: leads\nsteps:\n  - select: [lead_idd]\nto:\n  - csv: { path: x }\nexpect:\n  not_null: [zip]');
    await expect(parsePipeline(text, 'p.yaml', { env })).rejects.toThrow(/p\.yaml:9:14 .*\n.*p\.yaml:13:14 /);
  });
});

describe('a run with expectations', () => {
  test('publishes when all are met, at their very limits', async () => {
    const rows = leads(100, (index) => (index < 5 ? { email: '' } : { email: `p${index}@example.org` }));
    const gates = [
      '  min_rows: 100',
      '  max_null: { email: 5%, firstname: 100 }',
      '  not_null: [lead_id]',
      '  unique: [lead_id, [lead_id, lead_status], email]',
      '  accepted_values: { lead_status: [sold, open] }',
    ];
    expect(await refused(rows, gates.join('\n'))).toEqual([]);
  });

  test.each([
    ['too few rows', '  min_rows: 1001', 'expect.min_rows: expected at least 1,001 rows, found 3'],
    ['too many nulls', '  max_null: { email: 50% }', 'expect.max_null.email: at most 50% of rows may be empty, found 66.67% (2 of 3)'],
    ['more nulls than a count', '  max_null: { email: 1 }', 'expect.max_null.email: at most 1 row may be empty, found 66.67% (2 of 3)'],
    ['any null', '  not_null: [email]', 'expect.not_null.email: no row may be empty, found 66.67% (2 of 3)'],
    ['a repeated value', '  unique: [lead_status]', 'expect.unique.lead_status: values must be unique, found 1 repetition in 3 rows'],
    [
      'values that come together twice',
      '  unique: [[lead_status, zipcode]]',
      'expect.unique.lead_status+zipcode: values must be unique, found 1 repetition in 3 rows',
    ],
    [
      'a value of no list',
      '  accepted_values: { lead_status: [open] }',
      'expect.accepted_values.lead_status: expected only open, found other values in 2 of 3 rows, like "sold"',
    ],
    [
      'a value of no list, about a person, without saying it',
      '  accepted_values: { email: [x] }',
      'expect.accepted_values.email: expected only x, found other values in 1 of 3 rows',
    ],
  ])('refuses %s', async (_what, gate, message) => {
    const rows = [lead(1, { email: 'a@b.c', zipcode: '1' }), lead(2, { email: '', zipcode: '1' }), lead(3, { lead_status: '' })];
    expect(await refused(rows, gate)).toEqual([message]);
  });

  test('tells all gates that refuse at once, whatever their kind, under the code of the first', async () => {
    const from = await serviceOf({ leads: [lead(1, { bridge_id: '1', age: 'x' }), lead(2)], bridges: [{ id: '1', title: 'A' }] });
    const folder = await temporaryFolder();
    const body = [
      'from: leads',
      'steps:',
      '  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title], min_match: 95% }',
      '  - derive: { years: int(age) }',
      'to:\n  - csv: { path: l.csv }',
      'expect:\n  min_rows: 5\n  not_null: [b_title]',
    ];
    const failure: unknown = await runIn(from, body.join('\n'), folder).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'E_GATE_MATCH', exit: 65 });
    expect(
      String(failure)
        .split('\n')
        .map((line) => line.replace(/^GateError: /, '').split(':')[0]),
    ).toEqual(['steps[0] join', expect.stringContaining('rows were rejected, but at most 1% may be'), 'expect.min_rows']);
  });

  test('compares values that were cast by the text that they have in files', async () => {
    const rows = leads(2, () => ({ is_valid: 'yes' }));
    expect(await refused(rows, '  accepted_values: { is_valid: ["true"] }', 'steps:\n  - cast: {}\n')).toEqual([]);
    expect(await refused(rows, '  accepted_values: { is_valid: ["yes"] }', 'steps:\n  - cast: {}\n')).toHaveLength(1);
  });

  test('says at most five samples', async () => {
    const [line] = await refused(
      leads(50, (index) => ({ lead_status: `s${index}` })),
      '  accepted_values: { lead_status: [sold] }',
    );
    expect(line?.match(/"s\d+"/g)).toHaveLength(5);
  });
});

describe('the size of an output, measured by that of the last run', () => {
  const sizes = (expected: Parameters<typeof openExpectations>[0], total: number, earlier: number | undefined) =>
    openExpectations(expected, [])
      .results([{ at: 'to[0] parquet', total, earlier: earlier === undefined ? undefined : { rows: earlier } }])
      .flatMap(({ violations }) => violations.map(({ message }) => message));

  test.each([
    ['the first run', 0, undefined],
    ['an output as big as before', 1000, 1000],
    ['the most that it may shrink', 800, 1000],
    ['the most that it may grow', 1500, 1000],
    ['any growth of an empty output', 1000, 0],
  ])('passes %s', (_what, total, earlier) => {
    expect(sizes({ max_shrink: 0.2, max_growth: 0.5 }, total, earlier)).toEqual([]);
  });

  test('refuses what shrank or grew more', () => {
    expect(sizes({ max_shrink: 0.2 }, 700, 1000)).toEqual([
      "to[0] parquet: expect.max_shrink: the output may be at most 20% smaller than the last run's, found 700 rows, previously 1,000 (30% smaller); run --allow-shrink publishes it once",
    ]);
    expect(sizes({ max_growth: 0.5 }, 4000, 1000)).toEqual([
      "to[0] parquet: expect.max_growth: the output may be at most 50% bigger than the last run's, found 4,000 rows, previously 1,000 (300% bigger)",
    ]);
  });

  test('is that of the table which stands there, and a refused run leaves it there', async () => {
    const folder = await temporaryFolder();
    const night = async (count: number) => {
      const from = await serviceOf({ leads: leads(count) });
      return runPipeline(await pipelineFor(from, 'from: leads\nto:\n  - parquet: { path: t }\nexpect: { max_shrink: 20% }', folder));
    };
    await night(10);
    await night(8);
    const before = await readdir(`${folder}/t`);
    await expect(night(6)).rejects.toMatchObject({ code: 'E_GATE_EXPECT', message: expect.stringContaining('found 6 rows, previously 8') });
    expect(await readdir(`${folder}/t`)).toEqual(before);
  });
});
