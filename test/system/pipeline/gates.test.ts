import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GateError } from '../../../src/core/errors.js';
import { runPipeline } from '../../../src/run/index.js';
import { lead, leads, pipelineFor, runIn, service, serviceOf } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

const to = 'to:\n  - csv: { path: leads.csv }';

/** Runs a pipeline over some leads. @returns The messages of the gates that refused, or none after a run that published. */
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
    ['too few rows', '  min_rows: 1001', /^expect\.min_rows: .* found 3$/],
    ['too many nulls', '  max_null: { email: 50% }', /^expect\.max_null\.email: .*\(2 of 3\)$/],
    ['more nulls than a count', '  max_null: { email: 1 }', /^expect\.max_null\.email: .*\(2 of 3\)$/],
    ['any null', '  not_null: [email]', /^expect\.not_null\.email: .*\(2 of 3\)$/],
    ['a repeated value', '  unique: [lead_status]', /^expect\.unique\.lead_status: .* 1 repetition in 3 rows$/],
    ['values repeated together', '  unique: [[lead_status, zipcode]]', /^expect\.unique\.lead_status\+zipcode: .* 1 repetition in 3 rows$/],
    [
      'a value that is not listed',
      '  accepted_values: { lead_status: [open] }',
      /^expect\.accepted_values\.lead_status: .* 2 of 3 rows, like/,
    ],
    ['a personal one, without repeating it', '  accepted_values: { email: [x] }', /^expect\.accepted_values\.email: .* 1 of 3 rows$/],
  ])('refuses %s', async (_what, gate, message) => {
    const rows = [lead(1, { email: 'a@b.c', zipcode: '1' }), lead(2, { email: '', zipcode: '1' }), lead(3, { lead_status: '' })];
    expect(await refused(rows, gate)).toEqual([expect.stringMatching(message)]);
  });

  test('reports all gates that refuse at once, whatever their kind, under the code of the first', async () => {
    const from = await serviceOf({ leads: [lead(1, { bridge_id: '1', age: 'x' }), lead(2)], bridges: [{ id: '1', title: 'A' }] });
    const body = [
      'from: leads',
      'steps:',
      '  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title], min_match: 95% }',
      '  - derive: { years: int(age) }',
      `${to}\nexpect:\n  min_rows: 5\n  not_null: [b_title]`,
    ];
    const failure: unknown = await runIn(from, body.join('\n'), await temporaryFolder()).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'E_GATE_MATCH', exit: 65 });
    expect(String(failure).split('\n')).toEqual([
      expect.stringContaining('steps[0] join'),
      expect.stringContaining('rows were rejected, but at most 1% may be'),
      expect.stringContaining('expect.min_rows'),
    ]);
  });

  test('compares values that were cast by the text that they have in files', async () => {
    const rows = leads(2, () => ({ is_valid: 'yes' }));
    expect(await refused(rows, '  accepted_values: { is_valid: ["true"] }', 'steps:\n  - cast: {}\n')).toEqual([]);
    expect(await refused(rows, '  accepted_values: { is_valid: ["yes"] }', 'steps:\n  - cast: {}\n')).toHaveLength(1);
  });
});

/** A hundred leads on the first night, and then so many: with an age that is none, without a status, in all. */
test.each<[string, string, (met: number) => Readonly<Record<'odd' | 'empty' | 'all', number>>, number]>([
  ['rejects: { max: 29% }', 'E_GATE_REJECTS', (odd) => ({ odd, empty: 0, all: 100 }), 29],
  ['expect: { max_null: { lead_status: 29% } }', 'E_GATE_EXPECT', (empty) => ({ odd: 0, empty, all: 100 }), 29],
  ['expect: { max_null: { lead_status: 0.7% } }', 'E_GATE_EXPECT', (empty) => ({ odd: 0, empty, all: 1000 }), 7],
  ['expect: { max_shrink: 29% }', 'E_GATE_EXPECT', (lost) => ({ odd: 0, empty: 0, all: 100 - lost }), 29],
  ['expect: { max_growth: 29% }', 'E_GATE_EXPECT', (more) => ({ odd: 0, empty: 0, all: 100 + more }), 29],
  ['expect: { max_read_shrink: 29% }', 'E_GATE_SHRINK', (lost) => ({ odd: 0, empty: 0, all: 100 - lost }), 29],
])('a share that is met exactly passes, and one row more is refused: %s', async (gate, code, counts, met) => {
  const [folder, stateDir] = [await temporaryFolder(), await temporaryFolder()];
  const night = async ({ odd, empty, all }: ReturnType<typeof counts>) => {
    const rows = leads(all, (index) => ({ age: index < odd ? 'old' : '', lead_status: index < empty ? '' : 'new' }));
    const body = `from: leads\n${gate}\nto: [csv: { path: l.csv, types: typed }]`;
    return runPipeline(await pipelineFor(await serviceOf({ leads: rows }), body, folder, { 'service.end_wait': '1ms' }), { stateDir });
  };
  await night({ odd: 0, empty: 0, all: 100 });
  const before = await readFile(join(folder, 'l.csv'), 'utf8');
  await expect(night(counts(met + 1))).rejects.toMatchObject({ code });
  expect(await readFile(join(folder, 'l.csv'), 'utf8')).toBe(before);
  await night(counts(met));
});

describe('the gates in a report', () => {
  const body = `from: leads
steps:
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title], min_match: 10% }
${to}
expect: { min_rows: MIN, not_null: [lead_id] }`;
  const gatesOf = (gates: readonly { gate: string; at: string | undefined; outcome: string }[]) =>
    gates.map(({ gate, at, outcome }) => `${gate}${at === undefined ? '' : ` of ${at}`}: ${outcome}`);

  test('are all of a run that published', async () => {
    const report = await runPipeline(await pipelineFor(await service(), body.replace('MIN', '1'), await temporaryFolder()));
    expect(gatesOf(report.gates)).toEqual([
      'consistency of leads: passed',
      'consistency of steps[0] join: passed',
      'max_read_shrink of leads: not compared',
      'max_read_shrink of steps[0] join: not compared',
      'books of to[0] csv: passed',
      'min_match of steps[0] join: passed',
      'rejects: passed',
      'expect.min_rows: passed',
      'expect.not_null.lead_id: passed',
    ]);
  });

  test.each(['steps: [{ limit: 10 }]', 'consistency: off'])('say that changes of the list were not looked for, with %s', async (more) => {
    const report = await runPipeline(await pipelineFor(await service(), `from: leads\n${more}\n${to}`, await temporaryFolder()));
    expect(gatesOf(report.gates)).toContain('consistency of leads: not checked');
  });
});
