import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastValueFrom } from 'rxjs';
import { collections } from '../../../src/collections/index.js';
import { traceRow, previewPipeline, runPipeline } from '../../../src/index.js';
import { connect, csv, derive, writeTo } from '../../../src/leadstream.js';
import type { ServedTable } from '../../../src/service/index.js';
import { createClient } from '../../../src/source/index.js';
import { changing } from '../../support/changing.js';
import { leads, pipelineFor, runIn, service, serviceOf, testKey, type LoggedService } from '../../support/services.js';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { temporaryFolder } from '../../support/temporary.js';

/** 250 leads, of which number 210 has an age that is none, and number 105 a bridge that is there twice. */
const odd = () =>
  serviceOf({
    leads: leads(250, (index) => ({ age: index === 210 ? 'young' : '30', bridge_id: index === 105 ? '2' : '1', zipcode: String(index) })),
    bridges: ['1', '2', '2'].map((adnum, index) => ({ id: String(index), adnum, title: 'Auto' })),
  });
const young = "the row with lead_id '210' (row 11 of page 3)";
const twice = "the row with lead_id '105' (row 6 of page 2)";

test.each([
  [
    'a cast behind a step that drops rows',
    'on_error: fail\nsteps:\n  - filter: num(zipcode) >= 205.0\n  - cast: { types: { age: integer } }\n',
    "steps[1] cast: field age is not a 64-bit integer in the row with lead_id '210' (row 6 of page 3)",
  ],
  ['a sort', 'on_error: fail\nsteps: [sort: { by: [age] }]\n', `steps[0] sort: field age is not a 64-bit integer in ${young}`],
  ['a join with several matches', 'steps: [join: { with: bridges, on: { bridge_id: adnum } }]\n', expect.stringContaining(twice)],
  [
    'a sink without the key',
    'on_error: fail\nsteps: [select: [age]]\n',
    'to[0] csv: field age is not a 64-bit integer in row 11 of page 3',
  ],
])('a row that ends a run is named by its key and its place: %s', async (_what, body, message) => {
  const folder = await temporaryFolder();
  const text = `from: leads\n${body}to: [csv: { path: out.csv, types: typed }]`;
  await expect(runIn(await odd(), text, folder)).rejects.toThrow(expect.objectContaining({ message }));
  expect(await readdir(folder)).not.toContain('out.csv');
});

describe('numbers of the service', () => {
  const count = 237;
  /** Identifiers of which JavaScript knows every 2,048th. */
  const idOf = (index: number) => String(12345678901234567890n + BigInt(index));

  /** Leads as a service sends them that knows numbers; in every second answer records differ in their fields. */
  const table: ServedTable = {
    count,
    row: (index) =>
      `{"lead_id":${idOf(index)},"bridge_id":null,"age":${index},"aff_sub":1.10,"PSID":1e400,"meta":{"z": 1, "a": [9007199254740993, -0]}${index % 200 < 100 ? '' : ',"late":1E5'}}`,
    find: (id) => [Number(BigInt(id) - 12345678901234567890n)],
  };
  const numbers = (options: Parameters<typeof service>[1] = {}): Promise<LoggedService> =>
    service({ ...changing({}), leads: table }, options);
  const body = 'from: leads\nsteps:\n  - dedupe: {}\n  - select: [lead_id, aff_sub, psid, meta]\nto:\n  - csv: { path: out.csv }';

  test('reach the file as they were written, and none is taken for another', async () => {
    const folder = await temporaryFolder();
    const report = await runIn(await numbers(), body, folder);
    expect(report.sinks).toMatchObject([{ books: { read: count, written: count, duplicates: 0 } }]);
    const lines = Array.from({ length: count }, (_, index) => `${idOf(index)},1.10,1e400,"{""z"":1,""a"":[9007199254740993,-0]}"\n`);
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toBe(`lead_id,aff_sub,PSID,meta\n${lines.join('')}`);
  });

  test('stay so in a single record', async () => {
    const client = createClient({ baseUrl: (await numbers()).url, auth: { rest_api_key: testKey } });
    const [record] = await lastValueFrom(client.reader(collections.leads).find(idOf(7)));
    expect(record).toMatchObject({ lead_id: idOf(7), aff_sub: '1.10', psid: '1e400' });
    await client.close();
  });
});

test.each([
  ['aggregate', 'aggregate: { compute: { n: count(), x: avg(age) } }', { n: 3, x: 8.5 }],
  ['sql', 'sql: "SELECT count(*) AS n, avg(age) AS x FROM rows"', { n: 3, x: 8.5 }],
  ['cast', 'cast: { types: { age: integer } }, select: [age, lead_id]', { age: 7, lead_id: '0' }],
  ['derive', 'derive: { x: num(age) / 2.0 }, select: [x, age]', { x: 3.5, age: '7' }],
])('numbers that a step makes are numbers in JSON lines: %s', async (_step, steps, first) => {
  const [from, cwd] = [await serviceOf({ leads: leads(3, (index) => ({ age: ['7', '', '10'][index] })) }), await temporaryFolder()];
  await writeFile(join(cwd, 'p.yaml'), `name: p\nfrom: leads\nsteps: [${steps}]\nto: [ndjson: { path: out.ndjson }, stdout: {}]\n`);
  const { stdout } = await cli(['run', 'p.yaml'], { cwd, env: from.env });
  expect(await readFile(join(cwd, 'out.ndjson'), 'utf8')).toBe(stdout);
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toEqual(first);
});

describe('values that their type cannot hold', () => {
  const records = () =>
    serviceOf({
      leads: ['253402300800', '1700000000000000', '253402300799', '-62135596800'].map((timestamp, index) => ({
        ...{ lead_id: String(index), timestamp, yearmonthday: index % 2 === 0 ? '00001231' : '99991231' },
        aff_sub: ['9007199254740993', '1e-400', '33.3333333333333333', '0.1'][index],
      })),
    });
  const seconds = 'is not seconds since 1970';
  const bodyOf = (steps: string) => `from: leads\nrejects: { max: 50% }\nsteps: [${steps}]\nto: [parquet: { path: out }]`;

  test.each([
    ['a table', 'select: [timestamp]', seconds],
    ['a cast', 'cast: { types: { timestamp: timestamp } }, select: [timestamp]', seconds],
    ['a sort', 'sort: { by: [timestamp] }, select: [lead_id]', seconds],
    ['groups', 'aggregate: { by: [timestamp], compute: { n: count() } }', seconds],
    ['a query', 'sql: SELECT timestamp AS t FROM rows', seconds],
    ['a condition', 'filter: timestamp != now(), select: [lead_id]', 'epoch() cannot read the text'],
    ['a table of days', 'select: [yearmonthday]', 'is not a calendar day as YYYYMMDD'],
    ['decimals', 'cast: { types: { aff_sub: decimal } }, select: [aff_sub]', 'is not a number that a decimal can hold'],
    ['num()', 'derive: { n: num(aff_sub) }, select: [n]', 'num() cannot read the text'],
  ])('are rejects, with the reason: %s', async (_what, steps, reason) => {
    const folder = await temporaryFolder();
    await runIn(await records(), bodyOf(steps), folder);
    const lines = (await readFile(join(folder, 'out.rejects.ndjson'), 'utf8')).trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { reason: string }).reason)).toEqual([reason, reason]);
  });

  test('are all others, for readers that nobody here wrote', async () => {
    const folder = await temporaryFolder();
    await runIn(await records(), bodyOf('cast: { types: { aff_sub: decimal } }, select: [timestamp, aff_sub]'), folder);
    expect(await duckdb(`select timestamp::VARCHAR as t, aff_sub::VARCHAR as d from '${folder}/out/*.parquet'`)).toEqual([
      { t: '9999-12-31 23:59:59+00', d: '33.333333333333336' },
      { t: '0001-01-01 00:00:00+00', d: '0.1' },
    ]);
  });

  test.each(['typed', 'text'] as const)('are rejects where a program makes them: types %s', async (types) => {
    const folder = await temporaryFolder();
    const { leads } = connect({ baseUrl: (await records()).url, auth: { rest_api_key: testKey }, endWaitMs: 1 });
    const of = ({ lead_id: id }: { lead_id: string | null }) => new Date(id === '0' ? 1.7e15 : 0);
    const sink = csv({ path: join(folder, 'out.csv'), types, columns: ['at'] });
    await expect(writeTo(leads.pipe(derive({ at: { type: 'timestamp', of } })), sink)).rejects.toMatchObject({
      message: expect.stringContaining('a date outside of the years 1 to 9999'),
    });
  });
});

test.each(['csv: { path: out.csv }', 'parquet: { path: out }'])(
  'a value nested 100,000 deep is a text like any other: %s',
  async (sink) => {
    const deep = `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`;
    const row = (index: number) => `{"lead_id":"${index}","meta":${index === 1 ? deep : '"x"'}}`;
    const from = await service({ ...changing({}), leads: { count: 3, row, find: () => [1] } });
    const report = await runIn(from, `from: leads\nto:\n  - ${sink}`, await temporaryFolder());
    expect(report.sinks).toMatchObject([{ books: { read: 3, written: 3 } }]);
  },
);

describe('the other side of a join, in which a key came twice', () => {
  const lists = {
    leads: [{ lead_id: '1', bridge_id: '12' }],
    bridges: [
      { id: '12', title: 'A' },
      { id: '12', title: 'B' },
      { id: '13', title: 'C' },
    ],
  };
  const bodyWith = (more: string, pick = '') =>
    `from: leads${more}\nsteps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title]${pick} }\nto: [{ csv: { path: a.csv } }]`;

  test.each([
    ['', ', on_duplicate_key: keep_first', ['A']],
    ['', ', pick: all, on_duplicate_key: keep_first', ['A']],
    ['', ', pick: all, on_duplicate_key: keep_all', ['A', 'B']],
    ['\nconsistency: off', ', pick: all', ['A', 'B']],
  ])('is the same in a run, its preview and the explanation of a row: %j %j', async (more, pick, titles) => {
    const pipeline = await pipelineFor(await serviceOf(lists), bodyWith(more, pick), await temporaryFolder());
    expect((await runPipeline(pipeline)).sinks[0]?.total).toBe(titles.length);
    const { stages, failure } = await previewPipeline(pipeline);
    expect(failure).toBeUndefined();
    expect(stages.at(-1)?.rows.map(({ b_title }) => b_title)).toEqual(titles);
    const { steps } = await traceRow(pipeline, ['1']);
    expect(steps.map(({ outcome, rows }) => [outcome, rows.length])).toEqual([['passed', titles.length]]);
  });

  test('refuses a run that does not say which rows to keep', async () => {
    const body = bodyWith('\non_duplicate_key: keep_all', ', pick: all');
    const pipeline = await pipelineFor(await serviceOf(lists), body, await temporaryFolder());
    await expect(runPipeline(pipeline)).rejects.toMatchObject({
      code: 'E_GATE_KEY',
      message: expect.stringMatching(/^steps\[0\] join: at least 1 row .*id '12'/),
    });
  });

  test.each([
    ['\nconsistency: off', ''],
    ['', ', on_duplicate_key: keep_all'],
  ])('fails all of them where nobody chooses among several: %j %j', async (more, keeping) => {
    const pipeline = await pipelineFor(await serviceOf(lists), bodyWith(more, keeping), await temporaryFolder());
    await expect(runPipeline(pipeline)).rejects.toMatchObject({ code: 'E_STEP_MATCHES' });
    expect(await traceRow(pipeline, ['1'])).toMatchObject({ steps: [{ outcome: 'failed' }], failure: { code: 'E_STEP_MATCHES' } });
  });
});

test('the gate of rejected rows knows the rows that explode made, and rejects name the key of the row that they are of', async () => {
  const from = await serviceOf({ leads: leads(4, () => ({ aff_sub: '1,x,y' })) });
  const body = (most: string) => `from: leads
rejects: { max: ${most} }
steps:
  - explode: { field: aff_sub, separator: ',' }
  - cast: { types: { aff_sub: integer } }
to:
  - csv: { path: out.csv }`;
  const folder = await temporaryFolder();
  expect(await runIn(from, body('67%'), folder)).toMatchObject({ rejects: { rows: 8 } });
  const rejected = (await readFile(join(folder, 'out.csv.rejects.ndjson'), 'utf8')).trim().split('\n');
  expect(rejected.map((line) => JSON.parse(line) as unknown)).toEqual(
    leads(4).flatMap(({ lead_id }) => [expect.objectContaining({ key: { lead_id } }), expect.objectContaining({ key: { lead_id } })]),
  );
  await expect(runIn(from, body('60%'), await temporaryFolder())).rejects.toMatchObject({ message: /8 of 12 rows were rejected/ });
});

test('mask: { preset: personal } leaves no personal value in the file, not even joined ones', async () => {
  const rows = leads(20, (index) => ({ email: `p-${index}@x.org`, firstname: `p-${index}`, uid: '7', zipcode: 'p-1', source: 'web' }));
  const from = await serviceOf({ leads: rows, users: [{ uid: '7', email: 'p-u@x.org', affid: '9' }] });
  const folder = await temporaryFolder();
  const body = `from: leads
steps:
  - join: { with: users, on: { uid: uid } }
  - derive: { domain: "email + '!'" }
  - mask: { preset: personal }
to:
  - parquet: { path: t }
`;
  await runIn(from, body, folder);
  const [row] = await duckdb(`select * from read_parquet('${join(folder, 't')}/*.parquet')`);
  expect(row).toMatchObject({ source: 'web', users_affid: '9', uid: '7' });
  expect(JSON.stringify(row)).not.toContain('p-');
});

test('mask: { preset: personal } hides what is computed of a personal field and a revealed secret, and leaves the revealed one', async () => {
  const from = await serviceOf({ bridges: [{ id: '1', name: 'p-name', CRM_KEY: 'k-1' }] });
  const folder = await temporaryFolder();
  const steps =
    '[{ derive: { mixed: name + crm_key } }, { sql: "SELECT id, crm_key AS again, mixed FROM rows" }, { mask: { preset: personal } }]';
  await runIn(from, `from: bridges\nreveal: [crm_key]\nsteps: ${steps}\nto: [{ csv: { path: sql.csv } }]`, folder);
  expect(await readFile(join(folder, 'sql.csv'), 'utf8')).toBe('"id"\n"1"\n');
  const plain = '[{ derive: { mixed: name + crm_key } }, { mask: { preset: personal } }, { select: [id, crm_key] }]';
  await runIn(from, `from: bridges\nreveal: [crm_key]\nsteps: ${plain}\nto: [{ csv: { path: plain.csv } }]`, folder);
  expect(await readFile(join(folder, 'plain.csv'), 'utf8')).toBe('id,CRM_KEY\n1,k-1\n');
});
