import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { publishedManifest } from '../../support/parquet-files.js';
import { runPipeline } from '../../../src/run/index.js';
import { lead, leads, pipelineFor, runIn, service, serviceOf, testKey, type LoggedService } from '../../support/services.js';
import { changing } from '../../support/changing.js';
import { duckdb } from '../../support/duckdb.js';
import { ownServer, send } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

/** One table over several nights. */
async function nights(steps = '') {
  const folder = await temporaryFolder();
  const columns = async () => (await publishedManifest(join(folder, 't')))?.schema.map(({ original }) => original) ?? [];
  return {
    folder,
    columns,
    night: async (rows: readonly object[], more = '', changed = steps) => {
      const from = await serviceOf({ leads: rows.map((row) => ({ ...row })) });
      const body = `from: leads\n${changed}to:\n  - parquet: { path: t }\n${more}`;
      return runPipeline(await pipelineFor(from, body, folder));
    },
  };
}

const news = (warnings: readonly { code: string; message: string }[]) =>
  warnings.filter(({ code }) => code === 'W_SOURCE_FIELD_NEW').map(({ message }) => message);
const late = () => leads(150, (index) => (index === 120 ? { 'Late Field': 'x' } : {}));

describe('undeclared fields', () => {
  test('of page 1 are columns from the first run on, also when the service leaves them out later', async () => {
    const { night, columns, folder } = await nights();
    const first = await night([lead(1, { 'New Field': 'x' })]);
    expect(news(first.warnings)).toEqual([
      'leads: the service has an undeclared field "New Field"; it has the column new_field from this run on',
    ]);
    const { warnings, findings } = await night([lead(1), lead(2)]);
    expect(news(warnings)).toEqual([]);
    expect(findings.late).toEqual([]);
    expect(await columns()).toContain('New Field');
    expect(await duckdb(`select new_field from '${folder}/t/*.parquet'`)).toEqual([{ new_field: null }, { new_field: null }]);
  });

  const spaced = { 'Foo Bar': 'spaced' };
  const joined = { foo_bar: 'joined' };
  const hyphen = { 'foo-bar': 'hyphen' };

  test.each([
    [
      'the one that is called like it',
      [
        { ...spaced, ...joined },
        { ...joined, ...spaced },
      ],
      ['joined', 'spaced'],
    ],
    ['the one that had it the night before', [spaced, { ...joined, ...spaced }], ['spaced', 'joined']],
    ['the one that had it, where it is missing', [spaced, { ...joined, ...spaced }, joined], [null, 'joined']],
    [
      'the one that came first',
      [
        { ...spaced, ...hyphen },
        { ...hyphen, ...spaced },
      ],
      ['spaced', 'hyphen'],
    ],
  ])('whose names are alike: the column is in every output that of %s', async (_what, rows, values) => {
    const [folder, stateDir] = [await temporaryFolder(), await temporaryFolder()];
    const files = { t: `'${folder}/t/*.parquet'`, c: `read_csv('${folder}/c.csv', all_varchar = true)`, n: `'${folder}/n.ndjson'` };
    const to = ['parquet: { path: t }', 'csv: { path: c.csv, naming: snake_case }', 'ndjson: { path: n.ndjson, naming: snake_case }'];
    for (const fields of rows) {
      const from = await serviceOf({ leads: [lead(1, fields)] });
      await runIn(from, `from: leads\nto: [${to.map((sink) => `{ ${sink} }`).join()}]\n`, folder, { stateDir });
    }
    for (const file of Object.values(files)) {
      const [row] = await duckdb(`select * from ${file}`);
      expect(row).toMatchObject({ foo_bar: values[0], foo_bar_2: values[1] });
      // In the order in which they came.
      const [one, other] = values[0] === 'joined' ? ['foo_bar_2', 'foo_bar'] : ['foo_bar', 'foo_bar_2'];
      expect(Object.keys(row ?? {}).slice(-2)).toEqual([one, other]);
    }
  });

  test('that come after page 1 are told, and are columns of the next run wherever they come then', async () => {
    const { night, columns, folder } = await nights();
    const first = await night(late());
    expect(first.findings.late).toEqual(['Late Field']);
    expect(news(first.warnings)[0]).toContain('it is in no output of this run');
    expect(await columns()).not.toContain('Late Field');
    const second = await night(late());
    expect(second.findings.late).toEqual([]);
    expect(await columns()).toContain('Late Field');
    expect(await duckdb(`select count(late_field)::int as n from '${folder}/t/*.parquet'`)).toEqual([{ n: 1 }]);
  });

  test('that come after page 1 are no columns of the next run after a mask of all that is personal', async () => {
    const { night, columns } = await nights('steps:\n  - mask: { preset: personal }\n');
    const { warnings, findings } = await night(late());
    expect(findings.late).toEqual(['Late Field']);
    expect(news(warnings)).toEqual(['leads: the service has an undeclared field "Late Field"; it is in no output of this run']);
    await night(late());
    expect(await columns()).not.toContain('Late Field');
  });

  test('do not bring back the columns of a step that was taken away', async () => {
    const { night, columns } = await nights('steps:\n  - derive: { zip_place: zip_city(zipcode) }\n');
    await night([lead(1, { zipcode: '90210' })]);
    expect(await columns()).toContain('zip_place');
    await night([lead(1, { zipcode: '90210' })], '', '');
    expect(await columns()).not.toContain('zip_place');
  });

  test('that have the name of a column of the steps give way', async () => {
    const lists = {
      leads: leads(200, (index) => ({ bridge_id: index === 199 ? 'none' : '1', ...(index >= 149 && { bridge_title: 'of the lead' }) })),
      bridges: [{ id: '1', title: 'of the bridge' }],
    };
    const [from, folder] = [await serviceOf(lists), await temporaryFolder()];
    const join = 'steps:\n  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }';
    const { warnings } = await runIn(from, `from: leads\n${join}\nto:\n  - parquet: { path: t }`, folder);
    expect(await duckdb(`select bridge_title, count(*)::int as n from '${folder}/t/*.parquet' group by all order by n`)).toEqual([
      { bridge_title: null, n: 1 },
      { bridge_title: 'of the bridge', n: 199 },
    ]);
    expect(news(warnings)).toEqual(['leads: the service has an undeclared field "bridge_title"; it is in no output of this run']);
  });
});

const page2 = { 'UTM Source': 'spaced', zone: '2' };
const rows = leads(300, (index) => (index < 100 ? {} : index < 200 ? page2 : { utm_source: 'joined', area: '3' }));
const run = async (first: 2 | 3, onNewField: string, consistency: string) => {
  const [folder, stateDir] = [await temporaryFolder(), await temporaryFolder()];
  const served = await ownServer((response, url) => {
    const [page, limit] = [Number(url.searchParams.get('page')), Number(url.searchParams.get('limit'))];
    const answer = () => send(response, page < 1 ? [] : rows.slice((page - 1) * limit, page * limit));
    setTimeout(answer, page === 5 - first ? 60 : 0);
  });
  const from = { ...served, env: { LEADSTREAM_BASE_URL: served.url, LEADSTREAM_REST_API_KEY: testKey } };
  const sinks = '{ parquet: { path: t } }, { csv: { path: c.csv } }, { ndjson: { path: n.ndjson, naming: snake_case } }';
  const text = `from: leads\nconsistency: ${consistency}\non_new_field: ${onNewField}\nto: [${sinks}]\n`;
  for (const _night of onNewField === 'restart' ? [1] : [1, 2]) await runIn(from, text, folder, { stateDir });
  const bytes = `select md5(content) as digest from read_blob(['${folder}/t/*.parquet', '${folder}/c.csv', '${folder}/n.ndjson'])`;
  const columns = `select utm_source, utm_source_2, count(*)::int as n from '${folder}/t/*.parquet' group by all order by all`;
  return {
    head: (await readFile(join(folder, 'c.csv'), 'utf8')).split('\n')[0],
    bytes: await duckdb(bytes),
    rows: await duckdb(columns),
  };
};

test.each([
  ['next_run', 'repair'],
  ['restart', 'repair'],
  ['restart', 'off'],
])(
  'the answers of pages 2 and 3, whichever arrives first, give the same names, order and bytes: on_new_field: %s, consistency: %s',
  async (onNewField, consistency) => {
    const [one, other] = [await run(2, onNewField, consistency), await run(3, onNewField, consistency)];
    expect(other).toEqual(one);
    expect(one.head).toMatch(/,UTM Source,zone,utm_source,area$/);
    expect(one.rows).toEqual([
      { utm_source: 'joined', utm_source_2: null, n: 100 },
      { utm_source: null, utm_source_2: 'spaced', n: 100 },
      { utm_source: null, utm_source_2: null, n: 100 },
    ]);
  },
);

describe('a field name that not every format can hold', () => {
  const names = { nul: 'n\0ul', half: '\ud800half', mark: '\ufeffmark', formula: '=1+1' };
  const header = async (file: string) => Object.keys((await duckdb(`select * from ${file}`))[0] ?? {}).at(-1);
  const line = async (file: string) => Object.keys(JSON.parse(await readFile(file, 'utf8')) as object).at(-1);
  // The client of DuckDB drops a mark at the start of a text.
  const element = async (folder: string) => {
    const rows = await duckdb(`select hex(name) as name from parquet_schema('${folder}/out/*.parquet')`);
    return Buffer.from(String(rows.at(-1)?.name), 'hex').toString();
  };
  const formats = {
    'csv: { path: out }': (folder: string) => header(`read_csv('${folder}/out', all_varchar = true, header = true)`),
    'ndjson: { path: out }': (folder: string) => line(join(folder, 'out')),
    'parquet: { path: out, naming: original }': element,
    'parquet: { path: out, naming: original, engine: parquetjs-lite }': element,
  };
  const refused = (sink: string, name: keyof typeof names) =>
    (name === 'nul' ? /^csv/ : name === 'half' ? /^(csv|parquet)/ : /^$/).test(sink);

  test.each(Object.entries(formats))('is written as it is, or refused by name with the way out: %s', async (sink, readBack) => {
    for (const [what, name] of Object.entries(names) as [keyof typeof names, string][]) {
      const [from, folder] = [await serviceOf({ leads: [lead(1, { [name]: 'x' })] }), await temporaryFolder()];
      const run = runIn(from, `from: leads\nto: [{ ${sink} }]`, folder);
      if (refused(sink, what)) {
        const message = expect.stringMatching(
          /^to\[0\] \w+: the name "[^"]+" has .*; leave the field out: by columns, or by undeclared: drop/,
        );
        await expect(run).rejects.toMatchObject({ code: 'E_SINK_FIELD', message });
        const only = sink.replace(' }', ', columns: [lead_id] }');
        expect(await runIn(from, `from: leads\nto: [{ ${only} }]`, folder)).toMatchObject({ read: 1 });
      } else {
        await run;
        expect(await readBack(folder)).toBe(name);
      }
    }
  });

  test('is escaped under escape_formulas like a cell, and quoted where a mark at its start would be that of the file', async () => {
    const [from, folder] = [await serviceOf({ leads: [lead(1, { [names.formula]: '=2' })] }), await temporaryFolder()];
    await runIn(from, 'from: leads\nto: [{ csv: { path: c.csv, escape_formulas: true } }]', folder);
    expect(await readFile(join(folder, 'c.csv'), 'utf8')).toMatch(/,'=1\+1\n.*,'=2\n$/);
    const marked = await ownServer((response) => send(response, [{ '\ufeffno': '1', total: '2' }]));
    const fields = 'fields: { no: { type: text, at: "/\\ufeffno" }, total: text }';
    const list = `collections:\n  orders: { path: /orders, key: [no], paging: { scheme: none }, ${fields} }\nfrom: orders`;
    const env = { LEADSTREAM_BASE_URL: marked.url, LEADSTREAM_REST_API_KEY: testKey };
    for (const bom of [false, true]) {
      await runIn({ env }, `${list}\nto: [{ csv: { path: m.csv, bom: ${bom} } }]`, folder);
      expect(await duckdb(`select * from read_csv('${folder}/m.csv', all_varchar = true)`)).toEqual([{ '\ufeffno': '1', total: '2' }]);
    }
  });
});

test('a declared field that no row has is null, and warned of', async () => {
  const users = ['1', '2'].map((uid) => ({ uid, email: `${uid}@b.c` }));
  const [from, folder] = [await serviceOf({ users }), await temporaryFolder()];
  const report = await runIn(from, 'from: users\nto:\n  - csv: { path: u.csv }', folder);
  expect(report.warnings).toEqual([
    { code: 'W_SOURCE_FIELD_GONE', message: 'users: no row had these declared fields, so their columns are null: affid' },
  ]);
  expect(report.findings).toMatchObject({ gone: ['affid'], missing: { affid: 2 } });
  expect(await readFile(join(folder, 'u.csv'), 'utf8')).toBe('uid,email,affid\n1,1@b.c,\n2,2@b.c,\n');
});

const freeze = 'schema: freeze';

test.each([
  ['a new field after page 1', late(), '', 'found new: late_field'],
  ['a column that a step takes away', [lead(1)], 'steps:\n  - mask: { age: drop }\n', 'found missing: age'],
  ['a column of another type', [lead(1)], 'steps:\n  - cast: { types: { age: decimal } }\n', 'found changed type: age'],
])('schema: freeze refuses %s', async (_what, rows, steps, message) => {
  const { night, columns } = await nights();
  await night([lead(1)], freeze);
  await night([lead(2)], freeze);
  const before = await columns();
  await expect(night(rows, freeze, steps)).rejects.toMatchObject({
    code: 'E_GATE_SCHEMA',
    exit: 65,
    message: expect.stringContaining(`to[0] parquet: schema: the columns of the last run are frozen, ${message}`),
  });
  expect(await columns()).toEqual(before);
  await night(rows, '', steps);
});

const lateFields = (count = 250) =>
  leads(count, (index) => ({ ...(index === 120 ? { 'Late Field': 'x' } : {}), ...(index >= 220 ? { later: `y${index}` } : {}) }));
const body = (more = '', to = '  - parquet: { path: t }\n  - csv: { path: c.csv }\n') =>
  `from: leads\non_new_field: restart\n${more}to:\n${to}`;
const restarts = (warnings: readonly { code: string; message: string }[]) =>
  warnings.filter(({ code }) => code === 'W_RUN_RESTARTED').map(({ message }) => message);

/** How often each page was asked for. */
function askedFor({ requests }: LoggedService): Readonly<Record<string, number>> {
  return Object.fromEntries([1, 2, 3].map((page) => [page, requests.filter((url) => url === `leads?page=${page}&limit=100`).length]));
}

describe('on_new_field: restart', () => {
  test('gives fields that come after page 1 their columns in the same run, in every output, from the spooled pages', async () => {
    const [from, folder] = [await serviceOf({ leads: lateFields() }), await temporaryFolder()];
    const report = await runIn(from, body(), folder);
    expect(restarts(report.warnings)).toEqual([
      'leads: undeclared fields first appeared after page 1: "Late Field", "later"; the run starts again with the spooled pages',
    ]);
    expect(report).toMatchObject({ read: 250, resumed: 0, findings: { late: [] } });
    expect(report.sinks.map(({ books }) => [books.read, books.written])).toEqual([
      [250, 250],
      [250, 250],
    ]);
    expect(askedFor(from)).toEqual({ 1: 1, 2: 1, 3: 1 });
    const counts = 'count(*)::int as rows, count(late_field)::int as late, count(later)::int as later, max(later) as last';
    const expected = [{ rows: 250, late: 1, later: 30, last: 'y249' }];
    expect(await duckdb(`select ${counts} from '${folder}/t/*.parquet'`)).toEqual(expected);
    expect((await readFile(join(folder, 'c.csv'), 'utf8')).split('\n')[0]).toMatch(/,Late Field,later$/);
  });

  test('leaves the table that the next run with next_run would leave, byte for byte', async () => {
    const [from, folder] = [await serviceOf({ leads: lateFields() }), await temporaryFolder()];
    const table = '  - parquet: { path: t }\n';
    const digestOf = async () => duckdb(`select md5(string_agg(content, '')) as digest from read_blob('${folder}/t/*.parquet')`);
    await runIn(from, body('', table), folder);
    const restarted = await digestOf();
    await runIn(from, body('', table).replace('restart', 'next_run'), folder);
    expect(await digestOf()).toEqual(restarted);
  });

  test('requests all pages once more without a spool, with a warning', async () => {
    const [from, folder] = [await serviceOf({ leads: lateFields() }), await temporaryFolder()];
    const { warnings } = await runIn(from, body('spool: off\n'), folder);
    expect(restarts(warnings)[0]).toMatch(/the run starts again and requests all pages again$/);
    expect(askedFor(from)).toEqual({ 1: 2, 2: 2, 3: 2 });
    expect(await duckdb(`select count(later)::int as later from '${folder}/t/*.parquet'`)).toEqual([{ later: 30 }]);
  });

  test('does not begin again where steps leave the fields out', async () => {
    const [from, folder] = [await serviceOf({ leads: lateFields() }), await temporaryFolder()];
    expect(restarts((await runIn(from, body('steps:\n  - select: [lead_id]\n'), folder)).warnings)).toEqual([]);
  });

  test('begins again once: what comes while it does is left for the next run', async () => {
    const lists = { leads: lateFields() };
    const [from, folder] = [await service(changing(lists)), await temporaryFolder()];
    const report = await runIn(from, body('spool: off\nconsistency: off\n'), folder, {
      watch: {
        warning: ({ code }) => {
          if (code === 'W_RUN_RESTARTED') lists.leads = lateFields().map((row, index) => (index === 130 ? { ...row, newest: 'z' } : row));
        },
      },
    });
    expect(restarts(report.warnings)).toHaveLength(1);
    expect(report.findings.late).toEqual(['newest']);
  });

  test('tells a list that was interrupted before from its own pages', async () => {
    const [from, folder] = [await serviceOf({ leads: lateFields() }), await temporaryFolder()];
    const stateDir = join(folder, 'state');
    const killed = new AbortController();
    const watch = { warning: ({ code }: { code: string }) => void (code === 'W_RUN_RESTARTED' && killed.abort()) };
    await expect(runIn(from, body(), folder, { stateDir, signal: killed.signal, watch })).rejects.toThrow('stopped');
    const report = await runIn(from, body(), folder, { stateDir });
    expect(report.resumed).toBe(3);
    expect(askedFor(from)).toEqual({ 1: 1, 2: 1, 3: 1 });
  });
});
