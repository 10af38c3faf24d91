import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { explainRow, loadPipeline, runPipeline, type RowExplanation } from '../../../src/index.js';
import { generate, type DataSource } from '../../../src/service/index.js';
import { cli, startCli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { rung } from '../../support/rung.js';
import { service, serviceOf } from '../../support/services.js';
import { filesBelow, visible } from '../../support/temporary.js';
import { workplace } from './support.js';

const enriching = `
from: leads
steps:
  - dedupe: {}
  - derive: { zip_city: zip_city(zipcode), zip_state: zip_state(zipcode), lower_status: lower(lead_status) }
  - filter: lower_status != 'new'
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title], type: inner }
  - join: { with: areacodes, on: { zip_state: state, zip_city: city }, normalize: casefold, pick: { max: city_population }, as: area, select: [area_code] }
  - cast: { types: { age: integer, timestamp: timestamp } }
  - mask: { email: redact }
  - select: [lead_id, lower_status, email, bridge_title, area_area_code, age, timestamp]
  - sort: { by: [timestamp desc] }
to:
  - csv: { path: out/leads.csv }
`;

/** Leads that differ in what becomes of them. */
const leads = [
  { lead_id: '1', bridge_id: '7', zipcode: '10001', lead_status: 'Sold', age: '41', email: 'ann@example.org' },
  { lead_id: '2', bridge_id: '7', zipcode: '', lead_status: 'new', age: '', email: '' },
  { lead_id: '3', bridge_id: '8', zipcode: '10001', lead_status: 'open', age: 'old', email: 'joe@example.org' },
  { lead_id: '4', bridge_id: '', zipcode: '99999', lead_status: 'open', age: '7', email: '' },
];
const bridges = [
  { id: '7', title: 'Auto' },
  { id: ' 8', title: 'Solar' },
];
const areacodes = [
  { area_code: '212', city: 'New York', state: 'NY', city_population: '9' },
  { area_code: '646', city: 'New York', state: 'NY', city_population: '10' },
];

const served = () => serviceOf({ leads, bridges, areacodes });

/** A pipeline of these steps, explained for a lead. */
async function explained(steps: readonly string[], key: string, more = ''): Promise<RowExplanation> {
  const [from, cwd] = [
    await served(),
    await workplace(`from: leads\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}to:\n  - csv: { path: l.csv }\n${more}`),
  ];
  return explainRow(await loadPipeline('p.yaml', { cwd, env: from.env }), [key]);
}

describe('explain-row', () => {
  test('says of each record what a run writes of it, or that it writes nothing', async () => {
    const source = generate({ leads: 60, bridges: 20, seed: 7 });
    const rowsOf = (table: DataSource['leads'], count: number, every = 1) =>
      Array.from({ length: count }, (_, index): Record<string, string> => JSON.parse(table.row(every * index)));
    const generated = rowsOf(source.leads, 60);
    const from = await serviceOf({ leads: generated, bridges: rowsOf(source.bridges, 15), areacodes: rowsOf(source.areacodes, 1_000, 30) });
    const cwd = await workplace(enriching);
    expect(await cli(['run', 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0 });
    const written = await duckdb(`select * from read_csv('${join(cwd, 'out/leads.csv')}', all_varchar = true)`);
    expect(written.length).toBeGreaterThan(20);
    expect(written.length).toBeLessThan(60);
    const pipeline = await loadPipeline('p.yaml', { cwd, env: from.env });
    for (const { lead_id = '' } of generated.slice(0, rung(4, 15))) {
      const { outputs, rows } = await explainRow(pipeline, [lead_id], { reveal: true });
      const row = written.find((each) => each['lead_id'] === lead_id);
      expect([lead_id, rows]).toEqual([lead_id, row === undefined ? 0 : 1]);
      const cells = outputs.flatMap((output) => output.rows.flat()).map(({ name, value }) => [name, value === '' ? null : value]);
      expect(Object.fromEntries(cells)).toEqual(row ?? {});
    }
  });

  test('shows every value, key and match on the way, hides personal values, and writes nothing', async () => {
    const [from, cwd] = [await served(), await workplace(enriching)];
    const { code, stdout, stderr } = await cli(['explain-row', 'p.yaml', '1'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const told = stdout.slice(stdout.indexOf('steps[0]')).replaceAll(cwd, '.');
    expect(told).toBe(
      [
        'steps[0] dedupe: passed',
        '  note: drops a row if an earlier one has the same key, which a single row does not show',
        '',
        'steps[1] derive: passed',
        '  expression: zip_city(zipcode)',
        '  expression: zip_state(zipcode)',
        '  expression: lower(lead_status)',
        '  uses zipcode = ***',
        '  uses lead_status = Sold',
        '  + zip_city text = ***',
        '  + zip_state text = ***',
        '  + lower_status text = sold',
        '',
        'steps[2] filter: passed',
        "  expression: lower_status != 'new'",
        '  uses lower_status = sold',
        '',
        'steps[3] join: passed',
        '  key bridge_id = 7: 1 row of bridges with that id',
        '  1 of 2 rows of bridges matches',
        '  + bridge_title text = Auto',
        '',
        'steps[4] join: passed',
        '  key zip_state = ***, compared as ***: 2 rows of areacodes with that state',
        '  key zip_city = ***, compared as ***: 2 rows of areacodes with that city',
        '  2 of 2 rows of areacodes match; pick: max city_population',
        '  + area_area_code text = 646',
        '',
        'steps[5] cast: passed',
        '  ~ age integer = *** (was ***)',
        '',
        'steps[6] mask: passed',
        '  ~ email text = [redacted] (was ***)',
        '',
        'steps[7] select: passed',
        told.split('\n').find((line) => line.startsWith('  - bridge_id, ')),
        '',
        'steps[8] sort: passed',
        '  note: sorts rows, and a single row has no order',
        '',
        'to[0] csv -> ./out/leads.csv: written',
        '  lead_id         1',
        '  lower_status    sold',
        '  email           [redacted]',
        '  bridge_title    Auto',
        '  area_area_code  646',
        '  age             ***',
        '  timestamp       null',
        '',
      ].join('\n'),
    );
    expect(stdout).toMatch(/^from leads: found by a single read\n {2}lead_id +1\n/);
    for (const personal of ['ann@', '10001', 'New York']) expect(stdout).not.toContain(personal);
    expect(await visible(cwd)).toEqual(['p.yaml']);
    const revealed = await cli(['explain-row', 'p.yaml', '1', '--reveal'], { cwd, env: from.env });
    expect(revealed.stdout).toContain('key zip_city = New York, compared as new york: 2 rows of areacodes with that city');
    expect(revealed.stdout).toContain('uses zipcode = 10001');
  });

  test('says which step took a row out, and why, and reads nothing for the steps after it', async () => {
    const [from, cwd] = [await served(), await workplace(enriching)];
    const { code, stdout } = await cli(['explain-row', 'p.yaml', '2', '--format', 'json'], { cwd, env: from.env });
    const { steps, rows, outputs }: RowExplanation = JSON.parse(stdout);
    expect({ code, rows, outputs }).toEqual({ code: 0, rows: 0, outputs: [] });
    expect(steps.map(({ outcome }) => outcome)).toEqual(['passed', 'passed', 'dropped', ...Array(6).fill('not reached')]);
    expect(steps[2]).toMatchObject({ reason: 'the condition is not true for this row', used: [{ name: 'lower_status', value: 'new' }] });
    expect(from.requests).toEqual(['leads/2']);
    const text = await cli(['explain-row', 'p.yaml', '2'], { cwd, env: from.env });
    expect(text.stdout).toMatch(/\nnothing is written for it: steps\[2\] filter, dropped\n$/);
  });

  test.each([
    ['3', '{ bridge_id: id }', '1 row would match with normalize: casefold, which ignores case and surrounding whitespace'],
    ['4', '{ bridge_id: id }', 'bridge_id is empty, and empty values never match'],
    ['1', '{ lead_status: title }', 'no row of bridges has that title'],
    ['1', '{ bridge_id: id, lead_id: title }', 'no row of bridges has that title'],
  ])('says why lead %s finds no match on %s', async (key, on, miss) => {
    const { steps, rows } = await explained([`join: { with: bridges, on: ${on}, as: b, select: [title], pick: first }`], key);
    expect(rows).toBe(1);
    expect(steps[0]).toMatchObject({
      outcome: 'passed',
      join: { matches: 0, looked: 2, miss },
      changed: [{ name: 'b_title', value: null }],
    });
  });

  test('says that each value is there, and not together', async () => {
    const steps = [
      'derive: { a: "\'212\'", p: "\'10\'" }',
      'join: { with: areacodes, on: { a: area_code, p: city_population }, as: b, select: [city], type: inner }',
    ];
    const { steps: passages } = await explained(steps, '1');
    expect(passages[1]).toMatchObject({
      outcome: 'dropped',
      reason: 'an inner join drops rows without a match: each value is in areacodes, but no row has all of them',
      join: { key: [{ agreeing: 1 }, { agreeing: 1 }] },
    });
  });

  test('asks for single records where the join does', async () => {
    const [from, cwd] = [
      await served(),
      await workplace(
        'from: leads\nsteps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title], lookup: by_id }\nto:\n  - stdout: {}',
      ),
    ];
    const { stdout } = await cli(['explain-row', 'p.yaml', '1'], { cwd, env: from.env });
    expect(stdout).toContain('  key bridge_id = 7\n  1 of 1 row that the service returned for it matches\n  + b_title text = Auto\n');
    expect(from.requests).toEqual(['leads/1', 'bridges/7']);
    const dots = await serviceOf({ leads: [{ lead_id: '1', bridge_id: '..' }], bridges: [{ id: '..', title: 'Auto' }] });
    expect((await cli(['explain-row', 'p.yaml', '1'], { cwd, env: dots.env })).stdout).toContain(
      'that identifier cannot be part of a URL path, so no record is requested; lookup: preload compares it',
    );
  });

  test('tells what is rejected, becomes null, or fails a run', async () => {
    const cast = 'cast: { types: { age: integer } }';
    const [rejected] = (await explained([cast], '3')).steps;
    expect(rejected).toMatchObject({ outcome: 'rejected', reason: 'field age is not a 64-bit integer' });
    const nulled = await explained([cast], '3', 'on_error: null\n');
    expect(nulled.steps[0]).toMatchObject({ outcome: 'passed', nulled: 1, changed: [{ name: 'age', before: '***', value: null }] });
    const [from, cwd] = [
      await served(),
      await workplace('from: leads\non_error: fail\nsteps:\n  - cast: { types: { age: integer } }\n  - dedupe: {}\nto:\n  - stdout: {}'),
    ];
    const { code, stdout, stderr } = await cli(['explain-row', 'p.yaml', '3'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('E_ROW_FAILED: steps[0] cast: a run fails on this row') });
    expect(stdout).toContain('steps[0] cast: failed: E_STEP_VALUE: ');
    expect(stdout).toContain('steps[1] dedupe: not reached');
    const several = await explained(
      ['join: { with: areacodes, on: { zip: state }, as: b, select: [city] }'].map((step) => step.replace('zip', 'lead_id')),
      '1',
    );
    expect(several.steps[0]).toMatchObject({ outcome: 'passed' });
    const ambiguous = await explained(
      ['derive: { s: "\'NY\'" }', 'join: { with: areacodes, on: { s: state }, as: b, select: [city] }'],
      '1',
    );
    expect(ambiguous.steps[1]).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('E_STEP_MATCHES'),
      join: { matches: 2, pick: 'error' },
    });
  });

  test('says of a typed output which value does not fit', async () => {
    const [from, cwd] = [
      await served(),
      await workplace('from: leads\nsteps:\n  - select: [lead_id, age]\nto:\n  - parquet: { path: lake }'),
    ];
    const { stdout } = await cli(['explain-row', 'p.yaml', '3'], { cwd, env: from.env });
    expect(stdout).toMatch(
      /to\[0\] parquet -> .*\/lake: rejected\n {2}lead_id {2}3\n {2}age {6}\*\*\*\n {2}! age is not a 64-bit integer\n$/,
    );
  });

  test('shows null where an output of types has null for an empty text, and the empty text where it has that', async () => {
    const [from, cwd] = [
      await served(),
      await workplace(
        'from: leads\nsteps:\n  - select: [lead_id, age]\nto:\n  - ndjson: { path: a.ndjson, types: typed }\n  - ndjson: { path: b.ndjson, types: text }\nrejects: { max: 100% }',
      ),
    ];
    const { stdout } = await cli(['explain-row', 'p.yaml', '2'], { cwd, env: from.env });
    expect(stdout).toMatch(
      /a\.ndjson: written\n {2}lead_id {2}2\n {2}age {6}null\n.*b\.ndjson: written\n {2}lead_id {2}2\n {2}age {6}''\n$/,
    );
    expect(await cli(['run', 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0 });
    const written = [await readFile(join(cwd, 'a.ndjson'), 'utf8'), await readFile(join(cwd, 'b.ndjson'), 'utf8')];
    expect(written.map((text) => (JSON.parse(text.split('\n')[1] ?? '') as { age: unknown }).age)).toEqual([null, '']);
  });

  test('says what an append leaves out and what a gate refuses, and leaves the table as it is', async () => {
    const [from, cwd] = [
      await served(),
      await workplace(
        'from: leads\nsteps:\n  - select: [lead_id, age]\nto:\n  - parquet: { path: lake, mode: append }\nrejects: { max: 100% }',
      ),
    ];
    expect(await cli(['run', 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0 });
    const before = await filesBelow(cwd);
    const other = await serviceOf({ leads: [{ lead_id: '1', age: '42' }], bridges, areacodes });
    const { code, stdout } = await cli(['explain-row', 'p.yaml', '1'], { cwd, env: other.env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/lake: unchanged\n.*\n.*\n {2}the table has its key already, with different content\n$/);
    const strict = await cli(['explain-row', 'p.yaml', '3', '--set', 'rejects.max=0'], { cwd, env: from.env });
    expect(strict.stdout).toMatch(/\n\ngate rejects: refused: rejects.max: no row may be rejected\n$/);
    expect(strict).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('E_ROW_FAILED: the gate rejects refuses a run with this row'),
    });
    expect(await filesBelow(cwd)).toEqual(before);
  });

  test.each([
    ['reject', '', 'rejected', '***'],
    ['null', '', 'nulled', null],
    ['fail', '', 'failed', '***'],
    ['fail', ', on_error: null', 'nulled', null],
    ['reject', ', on_error: fail', 'failed', '***'],
  ])('says what becomes of a value that does not fit an output under %s%s', async (onError, own, outcome, value) => {
    const from = await served();
    const to = `to:\n  - csv: { path: l.csv }\n  - parquet: { path: lake${own} }`;
    const cwd = await workplace(`on_error: ${onError}\nfrom: leads\nsteps:\n  - select: [lead_id, age]\n${to}`);
    const { code, stdout, stderr } = await cli(['explain-row', 'p.yaml', '3', '--format', 'json'], { cwd, env: from.env });
    const { outputs }: RowExplanation = JSON.parse(stdout);
    expect(outputs).toMatchObject([
      { at: 'to[0] csv', outcome: 'written' },
      { at: 'to[1] parquet', outcome, rows: [[{ name: 'lead_id' }, { name: 'age', value, problem: 'is not a 64-bit integer' }]] },
    ]);
    const told = outcome === 'failed' ? 'E_ROW_FAILED: to[1] parquet: a run fails on this row' : '';
    expect({ code, stderr }).toEqual({ code: told === '' ? 0 : 1, stderr: expect.stringContaining(told) });
    const run = await cli(['run', 'p.yaml', '--set', 'rejects.max=100%'], { cwd, env: from.env });
    expect(run.code === 0).toBe(told === '');
  });

  test.each<[string, (cwd: string) => Promise<unknown>, string]>([
    ['csv: { path: out }', (cwd) => mkdir(join(cwd, 'out')), 'it is a folder'],
    ['ndjson: { path: out/a/l.ndjson }', (cwd) => writeFile(join(cwd, 'out'), ''), 'ENOTDIR'],
    ['parquet: { path: out/a/lake }', (cwd) => writeFile(join(cwd, 'out'), ''), 'ENOTDIR'],
  ])('says that an output cannot be written, as a run does, and makes nothing: %s', async (to, spoil, said) => {
    const [from, cwd] = [await served(), await workplace(`from: leads\nto:\n  - ${to}\n`)];
    await spoil(cwd);
    const before = await filesBelow(cwd);
    const pipeline = await loadPipeline('p.yaml', { cwd, env: from.env });
    const { outputs } = await explainRow(pipeline, ['1']);
    expect(outputs).toMatchObject([{ outcome: 'failed', reason: expect.stringMatching(`^E_SINK_PATH: .*${said}`) }]);
    expect(await filesBelow(cwd)).toEqual(before);
    await expect(runPipeline(pipeline)).rejects.toMatchObject({ code: 'E_SINK_PATH' });
  });

  test('says that a table which is not what its log has cannot be appended to, as a run does', async () => {
    const from = await served();
    const cwd = await workplace('from: leads\nsteps:\n  - select: [lead_id]\nto:\n  - parquet: { path: lake, mode: append }\n');
    const pipeline = await loadPipeline('p.yaml', { cwd, env: from.env, stateDir: join(cwd, 'state') });
    const options = { stateDir: join(cwd, 'state') };
    const { runId } = await runPipeline(pipeline, options);
    expect((await explainRow(pipeline, ['1'], options)).outputs).toMatchObject([{ outcome: 'unchanged' }]);
    await appendFile(join(cwd, '.lake.runs', `${runId}.manifest.json`), '\n');
    const { outputs } = await explainRow(pipeline, ['1'], options);
    expect(outputs).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining('E_GATE_VERIFY: to[0] parquet: mode append cannot') },
    ]);
    await expect(runPipeline(pipeline, options)).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
    const told = await cli(['explain-row', 'p.yaml', '1', '--state-dir', 'state'], { cwd, env: from.env });
    expect(told).toMatchObject({ code: 1, stdout: expect.stringContaining('E_GATE_VERIFY') });
  });

  test('stores nothing of a row anywhere, and needs no folder for it', async () => {
    const from = await served();
    const to =
      'to:\n  - parquet: { path: lake, engine: parquetjs-lite }\n  - parquet: { path: sea, sort_by: { columns: [lead_id], scope: table } }\n';
    const cwd = await workplace(`from: leads\nsteps:\n  - select: [lead_id]\n${to}`);
    const env = { ...from.env, TMPDIR: join(cwd, 'nowhere') };
    const { code, stdout, stderr } = await startCli(['explain-row', 'p.yaml', '1'], { cwd, env }).finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.match(/: written$/gm)).toHaveLength(2);
    expect(await filesBelow(cwd)).toEqual(['p.yaml']);
  });

  test('shows what each part of a condition gives, and which of them drops the row', async () => {
    const filter = (condition: string) => [`filter: ${JSON.stringify(condition)}`];
    const condition = "lead_status == 'Sold' && (age == '41' && !(blank(zipcode) || lead_id == '&&')) && num(lead_id) > 1.0";
    const [dropped] = (await explained(filter(condition), '1')).steps;
    expect(dropped).toMatchObject({
      outcome: 'dropped',
      reason: 'the condition is not true for this row: num(lead_id) > 1.0 is false',
      conditions: [
        { expression: "lead_status == 'Sold'", value: true },
        { expression: "age == '41'", value: true },
        { expression: "!(blank(zipcode) || lead_id == '&&')", value: true },
        { expression: 'num(lead_id) > 1.0', value: false },
      ],
    });
    const [failing] = (await explained(filter("lead_id == '3' && num(age) > 1.0"), '3')).steps;
    expect(failing).toMatchObject({ outcome: 'rejected', conditions: [{ value: true }, { value: null, problem: expect.any(String) }] });
    for (const alone of ["lead_id == '1' || age == '41' && lead_id == '2'", "lead_id == 'a && b'"]) {
      expect((await explained(filter(alone), '1')).steps[0]).toMatchObject({ conditions: [] });
    }
    const [from, cwd] = [
      await served(),
      await workplace(`from: leads\nsteps:\n  - ${filter("lead_id == '1' && blank(age)").join('')}\nto:\n  - stdout: {}\n`),
    ];
    expect((await cli(['explain-row', 'p.yaml', '1'], { cwd, env: from.env })).stdout).toContain(
      "  expression: lead_id == '1' && blank(age)\n    lead_id == '1': true\n    blank(age): false\n  uses",
    );
  });

  test.each([
    ['aggregate: { by: [lead_status], compute: { leads: count() } }', 'makes one row of a group'],
    ['limit: 1', 'passes only the first rows on'],
  ])('says what a single row does not show of %s', async (step, note) => {
    expect((await explained([step], '1')).steps[0]).toMatchObject({ outcome: 'passed', alone: expect.stringContaining(note) });
  });

  test('tells several rows of one', async () => {
    const { steps, rows, outputs } = await explained(
      ['derive: { s: "\'NY\'" }', 'join: { with: areacodes, on: { s: state }, as: b, select: [area_code], pick: all }'],
      '1',
    );
    expect({ rows, left: steps[1]?.rows }).toEqual({ rows: 2, left: 2 });
    expect(outputs[0]?.rows.map((row) => row.at(-1)?.value)).toEqual(['212', '646']);
  });

  test('says of several rows how many are rejected or have no match, what refuses that, and which row it shows', async () => {
    const several = 'derive: { s: "\'NY\'" }\n  - join: { with: areacodes, on: { s: state }, as: b, select: [area_code], pick: all }';
    const failing = "derive: { x: \"num(b_area_code == '212' ? 'abc' : b_area_code)\" }";
    const [from, cwd] = [
      await served(),
      await workplace(`from: leads\nsteps:\n  - ${several}\n  - ${failing}\nto:\n  - stdout: {}\nrejects: { max: 0 }`),
    ];
    const { code, stdout, stderr } = await cli(['explain-row', 'p.yaml', '1'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('the gate rejects refuses a run with this row') });
    const [, , , third = ''] = stdout.split('\n\n');
    expect(third.split('\n')).toEqual([
      'steps[2] derive: passed, 1 of 2 rows leaves it:',
      expect.stringMatching(/^ {2}1 row rejected: field x /),
      "  expression: num(b_area_code == '212' ? 'abc' : b_area_code)",
      '  uses b_area_code = 646',
      '  + x decimal = 646',
    ]);
    expect(stdout).toContain('gate rejects: refused: rejects.max: no row may be rejected\n');
    const missing = await explained(
      [
        ...several.split('\n  - '),
        "derive: { z: \"b_area_code == '212' ? 'New York' : 'none'\" }",
        'join: { with: areacodes, on: { z: city }, as: c, select: [area_code], pick: first, min_match: 100% }',
      ],
      '1',
    );
    expect(missing).toMatchObject({
      steps: [{}, {}, {}, { outcome: 'passed', rows: 2, join: { row: 2, missed: 1, miss: expect.any(String) } }],
      gates: [{ gate: 'min_match' }],
    });
  });

  test('says where a key is from that the service refuses, by the file of its reference', async () => {
    const [from, cwd] = [await served(), await workplace('from: leads\nto:\n  - stdout: {}')];
    await writeFile(join(cwd, 'key'), 'wrong-key\n');
    await writeFile(
      join(cwd, 'p.yaml'),
      'name: p\nservice: { base_url: "${LEADSTREAM_BASE_URL}", auth: { rest_api_key: "${file:key}" } }\nfrom: leads\nto: [{ stdout: {} }]\n',
    );
    const { code, stderr } = await cli(['explain-row', 'p.yaml', '1'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({
      code: 77,
      stderr: expect.stringContaining('refused the credentials; rest_api_key is from ${file:key}. '),
    });
  });

  test('looks through the list where there is no single read, so far and no further', async () => {
    const from = await service(generate({ leads: 500, bridges: 5, seed: 7 }), { faults: ['404@requests=1'] });
    const row = (index: number): { lead_id: string } => JSON.parse(generate({ leads: 500, bridges: 5, seed: 7 }).leads.row(index));
    const cwd = await workplace('from: leads\nto:\n  - stdout: {}');
    const late = await cli(['explain-row', 'p.yaml', row(250).lead_id], { cwd, env: from.env });
    expect(late).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^from leads: the single read returned no record; found in the list, row 251\n/),
    });
    const missing = await cli(['explain-row', 'p.yaml', '77', '--scan', '150'], { cwd, env: from.env });
    expect(missing).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        'E_ROW_NOT_FOUND: leads: the single read returned no record, and there is no record with that lead_id among the first 150 rows of the list; --scan searches more of them',
      ),
    });
    const whole = await cli(['explain-row', 'p.yaml', '77'], { cwd, env: from.env });
    expect(whole.stderr).toContain('in the list of 500 rows');
  });

  test('takes a key of several columns, one pipeline of several, and collections of a file', async () => {
    const [from, cwd] = [await served(), await workplace('from: areacodes\nto:\n  - stdout: {}')];
    expect(await cli(['explain-row', 'p.yaml', '646', 'New York', 'NY'], { cwd, env: from.env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('area_code                     646'),
    });
    expect(await cli(['explain-row', 'p.yaml', '646'], { cwd, env: from.env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the key of areacodes is area_code and city and state: give 3 values, in this order'),
    });
    const own =
      'collections:\n  people: { path: /api/users, key: [uid], paging: { scheme: page }, fields: { uid: text, email: { type: text, sensitivity: personal } } }\n';
    const users = await serviceOf({
      users: [
        { uid: '1', email: 'a@b.c' },
        { uid: '2', email: 'd@e.f' },
      ],
    });
    await writeFile(
      join(cwd, 'two.yaml'),
      `name: a\nfrom: users\nto:\n  - csv: { path: a.csv }\n---\nname: b\n${own}from: people\nto:\n  - csv: { path: b.csv }\n`,
    );
    expect(await cli(['explain-row', 'two.yaml', '2'], { cwd, env: users.env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--only: a, b'),
    });
    expect(await cli(['explain-row', 'two.yaml', '2', '--only', 'b'], { cwd, env: users.env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^from people: found in the list, row 2\n {2}uid {4}2\n {2}email {2}\*\*\*\n/),
    });
  });

  test('is stopped by its signal, and fails as reading does', async () => {
    const stop = new AbortController();
    const [from, cwd] = [
      await service(generate({ leads: 50, seed: 3 }), { onRequest: () => stop.abort(), faults: ['hang'] }),
      await workplace('from: leads\nto:\n  - stdout: {}'),
    ];
    const pipeline = await loadPipeline('p.yaml', { cwd, env: from.env });
    await expect(explainRow(pipeline, ['1'], { signal: stop.signal })).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    const denied = await service(generate({ leads: 50, seed: 3 }), { faults: ['401'] });
    expect(await cli(['explain-row', 'p.yaml', '1'], { cwd, env: denied.env })).toMatchObject({ code: 77 });
  });
});
