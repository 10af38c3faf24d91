import { connect, filter, postgres, writeTo } from '../../../src/index.js';
import { lead, leads, runIn, serviceOf, testKey, type LoggedService } from '../../support/services.js';
import { inPostgres, type Postgres } from '../../support/postgres.js';
import { temporaryFolder } from '../../support/temporary.js';

const columns = ['lead_id', 'lead_status', 'age', 'is_valid', 'timestamp', 'yearmonthday'];

const target = "url: '${DATABASE_URL}', table: crm.leads, create: true";

/** A pipeline that writes some columns of the leads. */
const body = (options: string, more = '') =>
  `from: leads\n${more}\nto:\n  - postgres: { ${target}, columns: [${columns.join()}], ${options} }`;

async function run(from: LoggedService, { url }: Pick<Postgres, 'url'>, text: string, more: Parameters<typeof runIn>[3] = {}) {
  return runIn({ env: { ...from.env, DATABASE_URL: url } }, text, await temporaryFolder(), more);
}

const rowsOf = ({ query }: Postgres) => query('SELECT * FROM crm.leads ORDER BY lead_id');
const ledgerOf = ({ query }: Postgres) =>
  query('SELECT table_name, run, pipeline, mode, inserted, changed, unchanged, deleted, total FROM crm.leadstream_runs ORDER BY number');

const odd = 'a\tb\\N\nc\rd\\. é🙂';

inPostgres('a table of PostgreSQL', (database) => {
  test('is created with its schema, key, types and comments, and has the rows as they were read, but none with a NUL', async () => {
    const db = await database();
    const from = await serviceOf({
      leads: [
        lead(1, { lead_status: odd, age: '42', is_valid: 'yes', timestamp: '1700000000', yearmonthday: '20240229' }),
        lead(2, { lead_status: '', age: '', is_valid: '', timestamp: '', yearmonthday: '' }),
        lead(3, { lead_status: '\\N', age: '-9223372036854775808', is_valid: 'no', timestamp: '-62135596800', yearmonthday: '00010101' }),
        lead(4, { lead_status: 'a\0b' }),
      ],
    });
    const report = await run(from, db, body('mode: replace', 'rejects: { max: 50% }'));
    expect(
      await db.query(`SELECT lead_id, lead_status, age, is_valid, "timestamp"::text, yearmonthday::text FROM crm.leads ORDER BY 1`),
    ).toEqual([
      { lead_id: '1', lead_status: odd, age: '42', is_valid: true, timestamp: '2023-11-14 22:13:20+00', yearmonthday: '2024-02-29' },
      { lead_id: '2', lead_status: '', age: null, is_valid: null, timestamp: null, yearmonthday: null },
      {
        ...{ lead_id: '3', lead_status: '\\N', age: '-9223372036854775808', is_valid: false },
        ...{ timestamp: '0001-01-01 00:00:00+00', yearmonthday: '0001-01-01' },
      },
    ]);
    const described = await db.query(`
      SELECT attname || ' ' || format_type(atttypid, atttypmod) AS type, attnotnull, col_description(attrelid, attnum) AS comment
      FROM pg_attribute WHERE attrelid = 'crm.leads'::regclass AND attnum > 0 ORDER BY attnum`);
    const types = ['lead_id text', 'lead_status text', 'age bigint', 'is_valid boolean', 'timestamp timestamp with time zone'];
    expect(described.map(({ type }) => type)).toEqual([...types, 'yearmonthday date']);
    expect(described.map((column) => column['attnotnull'])).toEqual([true, false, false, false, false, false]);
    expect(described[2]?.['comment']).toBe('age of leads; integer, personal.');
    const path = `crm.leads at 127.0.0.1:${db.port}/${db.name}`;
    expect(report.sinks).toMatchObject([{ at: 'to[0] postgres', path, total: 3, books: { read: 4, written: 3, rejected: 1 } }]);
    const counts = { inserted: '3', changed: '0', unchanged: '0', deleted: '0', total: '3' };
    expect(await ledgerOf(db)).toEqual([{ table_name: 'leads', run: report.runId, pipeline: 'test', mode: 'replace', ...counts }]);
  });

  test('that is replaced has the rows of the last run that has no limit, and keeps its grants, views, indexes and comments', async () => {
    const db = await database();
    await run(await serviceOf({ leads: leads(5) }), db, body('mode: replace'));
    await db.query('CREATE VIEW crm.sold AS TABLE crm.leads; CREATE INDEX own ON crm.leads (age); GRANT SELECT ON crm.leads TO public');
    const identity = `SELECT oid, relacl::text FROM pg_class WHERE oid = 'crm.leads'::regclass`;
    const before = await db.query(identity);
    const report = await run(await serviceOf({ leads: leads(3, (index) => ({ age: String(index) })) }), db, body('mode: replace'));
    expect(await db.query('SELECT lead_id, age FROM crm.sold ORDER BY 1')).toEqual(['0', '1', '2'].map((id) => ({ lead_id: id, age: id })));
    expect(await db.query(identity)).toEqual(before);
    expect((await ledgerOf(db)).at(-1)).toMatchObject({ run: report.runId, inserted: '3', deleted: '5', total: '3' });
    const limited = run(await serviceOf({ leads: leads(3) }), db, body('mode: replace', 'steps: [{ limit: 1 }]'));
    await expect(limited).rejects.toMatchObject({ code: 'E_GATE_PARTIAL' });
    expect(await rowsOf(db)).toHaveLength(3);
  });

  test('that is appended to gets the rows whose key is new, and keeps the others as they are', async () => {
    const db = await database();
    await run(await serviceOf({ leads: leads(3) }), db, body('mode: append'));
    await db.query(`UPDATE crm.leads SET lead_status = 'ours' WHERE lead_id = '1'`);
    const report = await run(await serviceOf({ leads: leads(5) }), db, body('mode: append'));
    const statuses = (await rowsOf(db)).map((row) => row['lead_status']);
    expect(statuses).toEqual(['sold', 'ours', 'sold', 'sold', 'sold']);
    expect(report.sinks).toMatchObject([{ total: 5, changed: 1, books: { written: 2, unchanged: 3 } }]);
  });

  test('that is merged into gets new rows and new content, and rows that are the same are not written', async () => {
    const db = await database();
    const lead_ = (id: number, age: string, lead_status: string) => lead(id, { age, lead_status });
    const text = body('mode: merge, ignore: [lead_status]');
    await run(await serviceOf({ leads: [1, 2, 3, 4].map((id) => lead_(id, '30', 'a')) }), db, text);
    const versions = async () =>
      new Map((await db.query('SELECT lead_id, xmin::text FROM crm.leads')).map((row) => [row['lead_id'], row['xmin']]));
    const before = await versions();
    const options = await db.query(`SELECT reloptions FROM pg_class WHERE oid = 'crm.leads'::regclass`);
    expect(options).toEqual([{ reloptions: ['fillfactor=90'] }]);
    const next = [lead_(2, '30', 'a'), lead_(3, '31', 'b'), lead_(4, '30', 'b'), lead_(5, '', 'a')];
    const report = await run(await serviceOf({ leads: next }), db, text);
    const rows = (await rowsOf(db)).map(({ lead_id, age, lead_status }) => [lead_id, age, lead_status].join(' '));
    expect(rows).toEqual(['1 30 a', '2 30 a', '3 31 b', '4 30 a', '5  a']);
    const after = await versions();
    expect(['1', '2', '3', '4'].map((id) => before.get(id) === after.get(id))).toEqual([true, true, false, true]);
    expect(report.sinks).toMatchObject([{ total: 5, changed: 0, books: { written: 2, unchanged: 2 } }]);
    const counts = { inserted: '1', changed: '1', unchanged: '2', deleted: '0', total: '5' };
    expect((await ledgerOf(db)).at(-1)).toMatchObject({ mode: 'merge', ...counts });
  });

  test('is written by a program, which is told what a merge did, and may not delete what its source lacks', async () => {
    const [{ url }, from] = [await database(), await serviceOf({ leads: leads(5) })];
    const { leads: rows } = connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, endWaitMs: 1 });
    const merge = { url, table: 'leads', mode: 'merge', key: ['lead_id'], create: true } as const;
    await writeTo(rows.pipe(filter(({ lead_id }) => lead_id !== '3')), postgres(merge));
    await expect(writeTo(rows, postgres({ ...merge, on_missing: 'delete' }))).rejects.toThrow('needs a pipeline file');
    const { merged } = await writeTo(rows, postgres(merge));
    expect(merged).toEqual({ before: 4, inserted: 1, changed: 0, unchanged: 4, deleted: 0 });
  });

  test('gets a column for a field that the service sends undeclared, unless its schema is frozen, and keeps it', async () => {
    const db = await database();
    const text = `from: leads\nto:\n  - postgres: { url: '\${DATABASE_URL}', table: leads, create: true, mode: append }`;
    await run(await serviceOf({ leads: leads(1) }), db, text);
    const from = await serviceOf({ leads: leads(2, (index) => ({ Surprise: `s${index}` })) });
    await expect(run(from, db, text.replace('from: leads', 'from: leads\nschema: freeze'))).rejects.toMatchObject({
      code: 'E_GATE_SCHEMA',
    });
    await run(from, db, text);
    expect(await db.query('SELECT lead_id, surprise FROM leads ORDER BY 1')).toEqual([
      { lead_id: '0', surprise: null },
      { lead_id: '1', surprise: 's1' },
    ]);
  });
});
