import { collections, columnsOf } from '../../../src/collections/index.js';
import { undeclaredColumn, type Row } from '../../../src/core/index.js';
import { sql } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { FlatVector, RecordBatch } from '../../../src/vector/index.js';
import { pageOf } from '../../../src/flow/index.js';
import { leads, opened, pagesFor, runtime, settled, through } from './support.js';

const input = columnsOf(collections.leads);
const firstStart = new Date('2024-02-29T23:59:58.765Z');
const lead: Row = leads[0] ?? {};

/** Runs a query over leads as a pipeline does. */
async function run(query: string | object, rows: readonly Row[] = leads, context = runtime({ firstStart })) {
  const out = await through(opened(steps.sql, query, context), pagesFor(steps.sql, rows));
  return out.flatMap((page) => page.rows);
}

async function problemsOf(query: string, columns = input) {
  return (await settled(steps.sql, query, columns)).problems.map(({ message }) => message);
}

describe('a query', () => {
  test('has the columns of rows by their declared types, but no withheld and no undeclared ones', async () => {
    expect(await problemsOf('SELECT extra FROM rows', [...input, undeclaredColumn('extra')])).toEqual([
      expect.stringContaining('not found'),
    ]);
    const { columns } = await settled(
      steps.sql,
      'SELECT age + 1 AS a, age / 2 AS b, yearmonthday - 1 AS c, age > 1 AS d, 1.5 AS e FROM rows',
    );
    expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual(['a integer', 'b decimal', 'c date', 'd flag', 'e decimal']);
  });

  test.each([
    ["timestamp AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'", true],
    ["date_trunc('day', timezone('UTC', date_trunc('hour', timestamp)) AT TIME ZONE 'Europe/Berlin')", true],
    ["date_trunc('day', timestamp AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'Europe/Berlin'", false],
    ["timestamp::TIMESTAMP AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'", false],
    ["TIMESTAMP '2024-01-01 00:00' AT TIME ZONE 'Asia/Tokyo' AT TIME ZONE 'Europe/Berlin'", false],
  ])('warns where one zone is read as another: %s', async (expression, isWrong) => {
    const { warnings, problems } = await settled(steps.sql, `SELECT (${expression})::VARCHAR AS t FROM rows`);
    expect(problems).toEqual([]);
    expect(warnings.map(({ message }) => message)).toEqual(isWrong ? [expect.stringContaining("AT TIME ZONE 'Europe/Berlin' alone")] : []);
  });

  test('gives results that are as sensitive as what their expressions read, unless the file says otherwise', async () => {
    const query = "SELECT campaign_id AS a, count(*) AS b, 'x' AS c, count(email) AS d FROM rows WHERE email <> '' GROUP BY ALL";
    const { problems } = await settled(steps.sql, { query, sensitivity: { e: 'plain' } });
    expect(problems).toMatchObject([{ path: ['sensitivity', 'e'] }]);
    const { columns } = await settled(steps.sql, { query, sensitivity: { c: 'secret' } });
    expect(columns.map(({ sensitivity }) => sensitivity)).toEqual(['plain', 'plain', 'secret', 'personal']);
    const all = await settled(steps.sql, 'SELECT * FROM rows QUALIFY row_number() OVER (PARTITION BY email ORDER BY timestamp) = 1');
    expect(all.columns.map(({ name, sensitivity }) => [name, sensitivity])).toEqual(
      input.map(({ name, sensitivity }) => [name, sensitivity]),
    );
  });

  const last = input.at(-1)?.name;
  test.each([
    ['campaign_id AS a, lower(email) AS b FROM rows', 'plain personal'],
    ["lower(campaign_id) AS email, 'email' AS b FROM rows r ORDER BY ALL", 'plain personal'],
    ['email AS a, a || 1 AS b, b || 2 AS c, campaign_id AS d FROM rows', 'personal personal personal plain'],
    ['email AS campaign_id, campaign_id || 1 AS b FROM rows', 'personal personal'],
    ['row_number() OVER w AS a, campaign_id AS b FROM rows WINDOW w AS (ORDER BY "Email")', 'personal plain'],
    [
      'max(campaign_id) FILTER (email IS NULL) AS a, string_agg(campaign_id ORDER BY email) AS b, count(*) AS c FROM rows',
      'personal personal plain',
    ],
    ['r.campaign_id AS a, length(r::VARCHAR) AS b FROM rows r WHERE r IS NOT NULL', 'plain personal'],
    ['campaign_id AS a, #1 AS b FROM rows', 'plain personal'],
    ["campaign_id FROM rows ORDER BY COLUMNS('email')", 'plain'],
    ["COLUMNS('^email$'), campaign_id FROM rows", 'personal plain'],
    ["COLUMNS('^e'), COLUMNS('^campaign_id$') FROM rows", 'personal personal'],
    ['a.campaign_id, count(*) AS n FROM rows a JOIN rows b ON a.email = b.email GROUP BY ALL', 'personal plain'],
    ['campaign_id, (SELECT max(email) FROM rows) AS b FROM rows', 'personal personal'],
    ["campaign_id, email IN (FROM (VALUES ('x'))) AS b FROM rows", 'personal personal'],
    ['campaign_id FROM (SELECT email AS campaign_id FROM rows) AS rows', 'personal'],
    ['campaign_id FROM rows UNION SELECT email FROM rows', 'personal'],
    ['campaign_id FROM rows AS rows(campaign_id)', 'personal'],
    ['campaign_id, x FROM rows, unnest([email]) AS t(x)', 'personal personal'],
    ["unnest({'a': max(uid), 'b': max(email)}), count(*) AS c FROM rows", 'personal personal personal'],
    ['unnest([campaign_id]) AS a, email AS b FROM rows', 'plain personal'],
    ['* EXCLUDE (email) FROM (SELECT campaign_id, email, uid FROM rows)', 'personal personal'],
  ])('keeps the sensitivity of what is in SELECT %s', async (query, expected) => {
    const { columns, problems } = await settled(steps.sql, `SELECT ${query}`);
    expect(problems.length > 0 ? 'refused' : columns.map(({ sensitivity }) => sensitivity).join(' ')).toBe(expected);
  });

  test.each([
    [`* EXCLUDE (${last}), email AS ${last}`, 'personal'],
    [`* REPLACE (email AS ${last})`, 'personal'],
    [`* EXCLUDE (rows.${last}), unnest({'${last}': email, 'x': 1})`, 'personal'],
    [`* RENAME (email AS x)`, 'personal'],
  ])('never takes a column for another of its name: SELECT %s', async (list, expected) => {
    const plain = input.map((column) => (column.name === 'email' ? column : { ...column, sensitivity: 'plain' as const }));
    const { columns } = await settled(steps.sql, `SELECT ${list} FROM rows`, plain);
    expect(columns.find(({ name }) => name === last || name === 'x')?.sensitivity).toBe(expected);
  });

  test.each([
    ['SELECT count(*) AS n FROM rows a NATURAL JOIN rows b', 0],
    ['SELECT x AS n FROM rows r(x)', leads.length],
    ['SELECT #1 AS n FROM rows', leads.length],
    ['SELECT length(r::VARCHAR) AS n FROM rows r', leads.length],
    ['SELECT length(main.rows::VARCHAR) AS n FROM rows', leads.length],
  ])('%s reads all columns, though it names none', async (query, count) => {
    // Null is not equal to null, so no row joins itself.
    const rows = leads.map((each) => ({ ...each, middlename: null }));
    const values = (await run(query, rows)).map(({ n }) => n);
    if (count === 0) expect(values).toEqual([0n]);
    else if (query.includes('length')) expect(values.every((value) => Number(value) > 500)).toBe(true);
    else expect(values).toEqual(rows.map((each: Row) => each.lead_id));
  });

  test('groups by all columns in a pivot that names none', async () => {
    const query = "SELECT a FROM rows PIVOT (count(*) FOR lead_status IN ('new' AS a))";
    const rows = [1, 2, 3].map((id) => ({ ...lead, lead_id: `${id}`, lead_status: 'new' }));
    expect(await run(query, rows)).toEqual(Array(3).fill({ a: 1n }));
  });

  test('has one clock, the start of the run, in UTC', async () => {
    const query =
      "SELECT now() AS a, current_timestamp AS b, current_date AS c, today() AS d, now()::TIMESTAMPTZ AS f, now()::VARCHAR AS g, hour(now() AT TIME ZONE 'America/New_York') AS h";
    const at = firstStart;
    const day = new Date('2024-02-29T00:00:00.000Z');
    expect(await run(query)).toEqual([{ a: at, b: at, c: day, d: day, f: at, g: '2024-02-29 23:59:58.765+00', h: 18n }]);
  });

  test('sees no row with a value that does not fit a column it uses, and every other row', async () => {
    const rows = [
      { ...lead, age: '41', email: '\ud800' },
      { ...lead, age: 'x', email: 'a\0b' },
      { ...lead, age: null, email: '😀' },
    ];
    const context = runtime({ firstStart });
    expect(await run('SELECT email FROM rows', rows, context)).toEqual([{ email: 'a\0b' }, { email: '😀' }]);
    expect(context.rejects.map(({ fault }) => fault)).toMatchObject([{ field: 'email', index: 0 }]);
    expect(await run('SELECT age FROM rows', rows)).toEqual([{ age: 41n }, { age: null }]);
    expect(await run({ query: 'SELECT age FROM rows', on_error: 'null' }, rows)).toEqual([{ age: 41n }, { age: null }, { age: null }]);
    await expect(run({ query: 'SELECT age FROM rows', on_error: 'fail' }, rows)).rejects.toMatchObject({ code: 'E_STEP_VALUE' });
  });

  test('orders texts by code points, and null last, in both directions', async () => {
    const rows = ['b', null, '😀', '', 'Ａ', 'B', 'é'].map((email) => ({ ...lead, email }));
    const order = async (way: string) => (await run(`SELECT email FROM rows ORDER BY email ${way}`, rows)).map(({ email }) => email);
    expect(await order('ASC')).toEqual(['', 'B', 'b', 'é', 'Ａ', '😀', null]);
    expect(await order('DESC')).toEqual(['😀', 'Ａ', 'é', 'b', 'B', '', null]);
  });

  test('fails on values without showing them, and on results that their type cannot hold', async () => {
    const rows = [{ ...lead, email: 'secret@example', age: '9223372036854775807' }];
    const failure = await run('SELECT email::INTEGER AS a FROM rows', rows).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'E_STEP_EXPRESSION', message: expect.stringContaining('Conversion Error') });
    expect(String(failure)).not.toContain('secret');
    const disguised = run('SELECT email::INTEGER AS a FROM rows', [{ ...lead, email: 'x: Secret Error: x' }]);
    await expect(disguised).rejects.toMatchObject({ message: expect.stringContaining('rows: Conversion Error;') });
    const context = runtime({ firstStart });
    const none = ["'inf'::DOUBLE", "'infinity'::TIMESTAMP", "'-infinity'::DATE", "'infinity'::TIMESTAMPTZ", "'infinity'::TIMESTAMP_NS"];
    none.push("TIMESTAMP '12024-01-01'", "DATE '0000-12-31'", '9007199254740993::DECIMAL(38,2)', 'age::HUGEINT * 2');
    for (const value of none) expect(await run(`SELECT ${value} AS a FROM rows`, rows, context)).toEqual([]);
    expect(context.rejects.map(({ fault }) => fault.field)).toEqual(none.map(() => 'a'));
    expect(context.tally).toMatchObject({ groups: none.length, rejected: none.length });
    await expect(run('SELECT age + 1 AS a FROM rows', rows)).rejects.toMatchObject({ code: 'E_STEP_EXPRESSION' });
    expect(await run('SELECT sum(age) AS a FROM rows', rows)).toEqual([{ a: 9223372036854775807n }]);
    const held = ['9007199254740992::DECIMAL(38,2) AS a', '2.5::DECIMAL(38,1) AS b', '-1e300::DOUBLE AS c', '0.1 AS d'];
    expect(await run(`SELECT ${held.join()}, DATE '9999-12-31' AS e FROM rows`, rows)).toEqual([
      { a: 2 ** 53, b: 2.5, c: -1e300, d: 0.1, e: new Date('9999-12-31') },
    ]);
  });
});

describe('a program', () => {
  type Years = {
    readonly uid: string | null;
    readonly years: bigint | null;
  };
  const query = 'SELECT uid, sum(age) AS years FROM rows GROUP BY uid ORDER BY uid';
  const types = { age: 'integer' } as const;
  const columns = { uid: 'text', years: 'integer' } as const;
  const two = pagesFor(
    steps.sql,
    [{ uid: '1', age: '41' }],
    [
      { uid: '2', age: '3' },
      { uid: '1', age: '9' },
    ],
  );
  const rowsOf = async (...given: Parameters<typeof sql<Years>>) => (await through(sql(...given), two)).flatMap((page) => page.rows);

  test('gets typed rows, whose columns are checked if it declares them', async () => {
    const expected = [
      { uid: '1', years: 50n },
      { uid: '2', years: 3n },
    ] satisfies Years[];
    expect(await rowsOf(query, { types })).toEqual(expected);
    expect(await rowsOf(query, { types, columns })).toEqual(expected);
    await expect(rowsOf('SELECT uid FROM rows', { types, columns })).rejects.toThrow('declare the columns of the result: uid text');
    await expect(rowsOf(query)).rejects.toMatchObject({ code: 'E_STEP_CONFIG', message: expect.stringContaining('sum(VARCHAR)') });
  });

  test('reads columns in any case, and refuses those that come after the first rows where it means all', async () => {
    const count = pagesFor(steps.sql, [{ leadId: '7' }], [{ leadId: '8', later: 'x' }]);
    const [page] = await through(sql('SELECT max(leadId) AS id FROM rows'), count);
    expect(page?.rows).toEqual([{ id: '8' }]);
    await expect(through(sql('SELECT count(DISTINCT r) AS n FROM rows r'), count)).rejects.toThrow(
      'the field later is not in the first rows',
    );
    const given = sql('SELECT count(DISTINCT r) AS n FROM rows r', { types: { later: 'text' } });
    expect((await through(given, count)).flatMap(({ rows }) => rows)).toEqual([{ n: 2n }]);
  });

  test('knows the columns of a page without rows', async () => {
    const none = pageOf(1, new RecordBatch(0, new Map([['uid', new FlatVector([])]])), { release: () => {} });
    const out = await through(sql('SELECT uid, count(*) AS n FROM rows GROUP BY uid'), [none]);
    expect(out.flatMap(({ rows }) => rows)).toEqual([]);
  });

  test('gets one row for no rows where the query makes one', async () => {
    const out = await through(sql('SELECT count(*) AS n, max(age) AS age FROM rows', { types }), []);
    expect(out.flatMap((page) => page.rows)).toEqual([{ n: 0n, age: null }]);
  });
});
