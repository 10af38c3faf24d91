import { postgres, type PostgresOptions } from '../../../src/sinks/index.js';
import { inPostgres, password, type Postgres } from '../../support/postgres.js';
import { pageOf } from '../../support/pages.js';
import { column, facts, writeAll } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';
import { until } from '../../support/until.js';

const columns = [column('id'), column('n', 'integer')];
const table = 'CREATE TABLE leads (id text PRIMARY KEY, n bigint)';

const marking = { mode: 'merge', on_missing: 'mark' } as const;

const loose = `CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`;

const foreignRuns = `${table}; CREATE TABLE leadstream_runs (n int); CREATE RULE r AS ON INSERT TO leadstream_runs DO INSTEAD NOTHING`;

const uniqueInPart = 'CREATE TABLE leads (id text, n bigint); CREATE UNIQUE INDEX ON leads (id) WHERE n > 1';

const notesOf = (referred: string) => `CREATE TABLE notes (id text CONSTRAINT fk REFERENCES ${referred} ON DELETE CASCADE)`;

const partitioned = `
  CREATE TABLE leads (id text PRIMARY KEY, n bigint) PARTITION BY LIST (id);
  CREATE TABLE part PARTITION OF leads DEFAULT PARTITION BY LIST (id); CREATE TABLE leaf PARTITION OF part DEFAULT`;

const trigger = `
  CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
  CREATE TRIGGER audit BEFORE DELETE ON leads FOR EACH ROW EXECUTE FUNCTION f()`;

async function open(url: string, options: Partial<PostgresOptions> = {}, context: Parameters<typeof postgres>[1] = {}) {
  return postgres({ url, table: 'leads', key: ['id'], ...options }, { scratch: await temporaryFolder(), planned: columns, ...context });
}

async function write(url: string, options: Partial<PostgresOptions> = {}, ids = [1], context: Parameters<typeof postgres>[1] = {}) {
  const rows = ids.map((id) => ({ id: String(id), n: '1' }));
  return writeAll(open(url, options, context), columns, rows);
}

const idsOf = async ({ query }: Postgres) => (await query('SELECT id FROM leads ORDER BY id')).map(({ id }) => String(id));

/** Whether a statement waits for a lock. */
const waitingFor = (db: Postgres, statement: string) => async () => {
  const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '${statement}'`;
  return (await db.query(waiting, 'postgres')).length > 0;
};

inPostgres('a table of PostgreSQL that does not fit', (database) => {
  test.each<readonly [string, string, string, Partial<PostgresOptions>?]>([
    ['is missing', '', 'or run CREATE TABLE "public"."leads" ("id" text, "n" bigint, PRIMARY KEY ("id"))', { create: false }],
    ['has no table of runs', table, 'or run CREATE TABLE IF NOT EXISTS "public".leadstream_runs', { create: false }],
    ['has rows of others', `${table}; INSERT INTO leads VALUES ('1')`, 'has rows that no run wrote'],
    ['has rows of others that it would mark', `${table}; INSERT INTO leads VALUES ('1')`, 'has rows that no run wrote', marking],
    ['has a column of another type', 'CREATE TABLE leads (id text, n integer)', 'has the type integer; it must be bigint'],
    ['has a generated column', 'CREATE TABLE leads (id text, n bigint GENERATED ALWAYS AS (1) STORED)', 'into column "n"'],
    ['needs a value of others', 'CREATE TABLE leads (id text, n bigint, m text NOT NULL)', '"m" is NOT NULL'],
    ['has no unique key', 'CREATE TABLE leads (id text, n bigint, UNIQUE (id, n))', 'no unique or exclusion', { mode: 'append' }],
    ['has a unique key of some rows', uniqueInPart, 'no unique or exclusion', { mode: 'merge' }],
    ['is a view', 'CREATE VIEW leads AS SELECT 1', 'is not a table'],
    ['has heirs', `${table}; CREATE TABLE heir () INHERITS (leads)`, 'other tables inherit'],
    ['would delete rows of others', `${table}; ${notesOf('leads')}`, 'would set off the foreign key fk of notes'],
    ['would delete them by a partition of a partition', `${partitioned}; ${notesOf('leaf')}`, 'would set off the foreign key fk of notes'],
    ['would fire a trigger', `${table}; ${trigger}`, 'would set off the trigger audit'],
    ['would apply a rule', `${table}; CREATE RULE r AS ON DELETE TO leads DO ALSO SELECT 1`, 'set off the rule r'],
    ['takes texts as equal', `${loose}; CREATE TABLE leads (id text COLLATE loose, n bigint)`, 'nondeterministic collation'],
    ['belongs to others', `${table}; REVOKE INSERT ON leads FROM owner`, 'permission denied for table leads (SQLSTATE 42501)'],
    ['hides rows', `${table}; ALTER TABLE leads ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`, 'row-level security'],
    ['has a longer name', '', 'more than 63 bytes', { table: 'a'.repeat(64) }],
    ['has a table of runs with a rule', foreignRuns, 'is not a table of runs'],
    ['is that of the runs', '', 'choose another name', { table: 'crm.leadstream_runs' }],
  ])('is refused before anything is read: it %s', async (_title, sql, message, options = {}) => {
    const db = await database();
    if (sql !== '') await db.query(sql);
    const tables = `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1`;
    const before = await db.query(tables);
    const refusal = { code: 'E_SINK_CONFIG', exit: 78, message: expect.stringContaining(message) };
    await expect(open(db.url, { create: true, ...options })).rejects.toMatchObject(refusal);
    expect(await db.query(tables)).toEqual(before);
  });

  test('is refused without its password, which the driver took from the environment and the server repeats', async () => {
    const db = await database();
    const name = `"${password.replace('"', '""')}"`;
    await db.query(`CREATE TABLE ${name} (id text PRIMARY KEY, n bigint); REVOKE INSERT ON ${name} FROM owner`);
    process.env['PGPASSWORD'] = password;
    const refusal = await open(db.url.replace(/:[^/]*@/, '@'), { table: password, create: true }).catch((thrown: unknown) => thrown);
    delete process.env['PGPASSWORD'];
    expect(refusal).toMatchObject({ message: expect.stringContaining('denied for table [redacted] (SQLSTATE 42501)') });
    expect(String(refusal)).not.toContain(password);
  });

  test('is not replaced after appends to rows of others, until they are adopted', async () => {
    const db = await database();
    await db.query(`${table}; INSERT INTO leads VALUES ('other', 1)`);
    await write(db.url, { create: true, mode: 'append' }, [1]);
    await expect(write(db.url)).rejects.toMatchObject({ code: 'E_SINK_CONFIG', message: expect.stringContaining('adopt: true') });
    expect(await idsOf(db)).toEqual(['1', 'other']);
    await write(db.url, { adopt: true }, [1, 2]);
    await write(db.url, {}, [2, 3]);
    expect(await idsOf(db)).toEqual(['2', '3']);
    await db.query('DROP TABLE leads; DROP TABLE leadstream_runs');
    await write(db.url, { create: true, mode: 'append' }, [1]);
    await write(db.url, {}, [2]);
    expect(await idsOf(db)).toEqual(['2']);
  });
});

inPostgres('a run on a table of PostgreSQL', (database) => {
  test.each([
    ['a wrong password', (url: string) => url.replace(encodeURIComponent(password), 'no'), 'E_SINK_AUTH', 77],
    ['a missing database', (url: string) => url.replace(/test_\d+$/, 'nowhere'), 'E_SINK_CONFIG', 78],
    ['a server that is down', (url: string) => url.replace(/:\d+\//, ':1/'), 'E_SINK_DATABASE', 69],
    ['a server without TLS', (url: string) => `${url}?sslmode=require`, 'E_SINK_DATABASE', 69],
  ])('fails with %s, and says nothing secret', async (_title, changed, code, exit) => {
    const db = await database();
    const failure = (await open(changed(db.url), { create: true }).catch((thrown: unknown) => thrown)) as Error;
    expect(failure).toMatchObject({ code, exit });
    expect(failure.cause).toBeUndefined();
    expect(failure.message).not.toContain(password);
  });

  test.each([
    ['another one', 'run-2', { code: 'E_RUN_LOCKED', exit: 75 }],
    ['another output of it', 'run-1', { code: 'E_SINK_CONFIG', message: expect.stringContaining('another output of the pipeline') }],
  ])('is refused when %s committed since it began, and nothing is changed', async (_title, runId, refusal) => {
    const db = await database();
    await write(db.url, { create: true }, [1]);
    const old = await open(db.url, {}, { runId: 'run-1' });
    await write(db.url, {}, [2], { runId });
    await expect(writeAll(Promise.resolve(old), columns, [{ id: '9', n: '1' }])).rejects.toMatchObject(refusal);
    expect(await idsOf(db)).toEqual(['2']);
  });

  test.each<readonly [string, 'append' | 'merge' | 'replace', string, string]>([
    ['others wrote its key', 'append', `INSERT INTO leads VALUES ('2', 5)`, 'E_RUN_LOCKED'],
    ['others wrote its key', 'merge', `INSERT INTO leads VALUES ('2', 5)`, 'E_RUN_LOCKED'],
    ['others wrote its key', 'replace', `INSERT INTO leads VALUES ('2', 5)`, 'E_RUN_LOCKED'],
    ['it was made again', 'replace', `DROP TABLE leads; ${table}; INSERT INTO leads VALUES ('7', 1)`, 'E_RUN_LOCKED'],
    ['a column has another type', 'replace', 'ALTER TABLE leads ALTER n TYPE text', 'E_SINK_CONFIG'],
    ['texts are taken as equal', 'merge', `${loose}; ALTER TABLE leads ALTER id TYPE text COLLATE loose`, 'E_SINK_CONFIG'],
    ['its key is not unique any more', 'append', 'ALTER TABLE leads DROP CONSTRAINT leads_pkey', 'E_SINK_CONFIG'],
    ['its deletes would reach others', 'replace', `${notesOf('leads')}; INSERT INTO notes VALUES ('1')`, 'E_SINK_CONFIG'],
  ])('is refused when, since its rows were counted, %s (%s)', async (_title, mode, sql, code) => {
    const db = await database();
    await write(db.url, { create: true, mode }, [1]);
    const writer = await open(db.url, { mode });
    await writer.begin(columns);
    await writer.write(pageOf(1, [{ id: '2', n: '1' }]));
    const prepared = await writer.prepare();
    await prepared.actions(facts);
    await db.query(sql);
    const before = await db.query('SELECT * FROM leads ORDER BY id');
    await expect(prepared.commit?.(false)).rejects.toMatchObject({ code });
    await writer.abort();
    expect(await db.query('SELECT * FROM leads ORDER BY id')).toEqual(before);
  });

  test('fails for two rows of one key, and for what a constraint refuses, without the values', async () => {
    const db = await database();
    await expect(write(db.url, { create: true, mode: 'merge' }, [1, 1])).rejects.toMatchObject({ code: 'E_SINK_KEY' });
    await db.query(`${table}; ALTER TABLE leads ADD CONSTRAINT positive CHECK (id <> '77')`);
    const failure = (await write(db.url, { create: true, mode: 'append' }, [77]).catch((thrown: unknown) => thrown)) as Error;
    expect(failure).toMatchObject({ code: 'E_SINK_VALUE', message: expect.stringContaining('constraint positive') });
    expect(`${failure.message} ${String(failure.cause)}`).not.toContain('77');
  });

  test('fails for two rows of one key that replace all others, and is refused when another program inserts its key meanwhile', async () => {
    const db = await database();
    await write(db.url, { create: true }, [1]);
    const twice = { code: 'E_SINK_KEY', message: expect.stringContaining('constraint leads_pkey') };
    await expect(write(db.url, { create: true }, [2, 2])).rejects.toMatchObject(twice);
    const other = await db.session();
    await other.query(`BEGIN; INSERT INTO leads VALUES ('2', 5)`);
    const refused = expect(write(db.url, {}, [2])).rejects.toMatchObject({ code: 'E_RUN_LOCKED', exit: 75 });
    await until(waitingFor(db, 'COPY "public"."leads"%'));
    await other.query('COMMIT');
    await refused;
    expect(await idsOf(db)).toEqual(['1', '2']);
  });

  test('is tried again when another one created the schema meanwhile', async () => {
    const db = await database();
    const other = await db.session();
    await other.query('BEGIN; CREATE SCHEMA crm');
    const written = write(db.url, { table: 'crm.leads', create: true });
    await until(waitingFor(db, '%CREATE SCHEMA%'));
    await other.query('COMMIT');
    await written;
    expect(await db.query('SELECT id FROM crm.leads')).toEqual([{ id: '1' }]);
  });

  test('is tried again after a deadlock', async () => {
    const db = await database();
    await write(db.url, { create: true, mode: 'merge' }, [1, 2, 3]);
    const other = await db.session('postgres');
    await other.query(`SET deadlock_timeout = '1h'; BEGIN; UPDATE leads SET n = 5 WHERE id = '3'`);
    const rows = ['1', '2', '3'].map((id) => ({ id, n: '7' }));
    const written = writeAll(open(db.url, { mode: 'merge' }), columns, rows);
    await until(waitingFor(db, 'UPDATE "public"."leads"%'));
    await other.query(`UPDATE leads SET n = 5 WHERE id = '1'`);
    await other.query('ROLLBACK');
    await written;
    expect(await db.query('SELECT n FROM leads')).toEqual([{ n: '7' }, { n: '7' }, { n: '7' }]);
    expect(await db.query('SELECT changed::int FROM leadstream_runs ORDER BY number')).toEqual([{ changed: 0 }, { changed: 3 }]);
  });

  test('that is stopped while it commits leaves the table as it was, and no statement running', async () => {
    const db = await database();
    await db.query(`${table}; CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(100); RETURN NEW; END';
      CREATE TRIGGER slow BEFORE INSERT ON leads FOR EACH ROW EXECUTE FUNCTION slow()`);
    const stop = new AbortController();
    const running = `SELECT FROM pg_stat_activity WHERE query LIKE 'INSERT INTO "public"."leads"%' AND state = 'active'`;
    const isRunning = async () => (await db.query(running)).length > 0;
    const written = write(db.url, { mode: 'append', create: true }, [1], { signal: stop.signal });
    const ended = expect(written).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    await until(isRunning);
    stop.abort();
    await ended;
    await until(async () => !(await isRunning()));
    expect(await idsOf(db)).toEqual([]);
  });
});
