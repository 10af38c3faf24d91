import { spawn, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { defineSink, loadPipeline, runPipeline } from '../../../src/index.js';
import { cli, startCli } from '../../support/cli.js';
import { closeAfter } from '../../support/closing.js';
import { inPostgres, password, type Postgres } from '../../support/postgres.js';
import { postgresProxy } from '../../support/postgres-proxy.js';
import { freePorts } from '../../support/seaweedfs.js';
import { leads, type LoggedService, pipelineText, serviceOf, workplace } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';
import { until } from '../../support/until.js';

const body = `from: leads
to:
  - csv: { path: leads.csv, columns: [lead_id] }
  - postgres: { url: '\${DATABASE_URL}', table: leads, mode: merge, create: true, columns: [lead_id, age] }`;

const counted = async ({ query }: Postgres) => {
  const [row = {}] = await query('SELECT (SELECT count(*)::int FROM leads) AS rows, (SELECT count(*)::int FROM leadstream_runs) AS runs');
  return row;
};

inPostgres('a pipeline that writes to PostgreSQL', (database) => {
  test('has its runs listed, its rows counted by verify, its database looked at by doctor, and no rollback', async () => {
    const [db, from, cwd] = [await database(), await serviceOf({ leads: leads(3) }), await workplace(body)];
    const env = { ...from.env, DATABASE_URL: db.url };
    const command = async (...parameters: string[]) => {
      const done = await cli(parameters, { cwd, env });
      expect(done.stdout + done.stderr).not.toMatch(/p@ss|p%40ss/);
      return done;
    };
    const place = `public.leads at 127.0.0.1:${db.port}/${db.name}`;
    const doctor = async () => command('doctor', 'p.yaml', '--rate-limit', '1000');
    expect((await doctor()).stderr).toContain(`${place}: can be written; no run has written it`);
    expect(await command('run', 'p.yaml', '--log-format', 'json')).toMatchObject({ code: 0 });
    expect(await command('run', 'p.yaml')).toMatchObject({ code: 0 });
    const lines = (await command('runs', 'p.yaml')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ +/).slice(2))).toEqual([
      ['mode', 'total', 'inserted', 'changed', 'unchanged', 'deleted', 'marked'],
      ['merge', '3', '0', '0', '3', '0', '0'],
      ['merge', '3', '3', '0', '0', '0', '0'],
    ]);
    const asRun = expect.stringContaining(`${place}: there are 3 rows, as run`);
    expect(await command('verify', 'p.yaml')).toMatchObject({ code: 0, stderr: asRun });
    expect((await doctor()).stderr).toMatch(/: can be written; run \S+ left 3 rows/);
    await db.query(`DELETE FROM leads WHERE lead_id = '1'`);
    expect(await command('verify', 'p.yaml')).toMatchObject({ code: 65, stderr: expect.stringContaining('and there are 2') });
    for (const verb of ['rollback', 'compact', 'files'])
      expect(await command(verb, 'p.yaml')).toMatchObject({ code: 2, stderr: expect.stringContaining('neither files nor earlier rows') });
    await db.query('ALTER TABLE leads ALTER age TYPE integer');
    expect(await doctor()).toMatchObject({ code: 78, stderr: expect.stringContaining('has the type integer') });
  });

  test('locks the table before other pipelines make a request, and commits there before it publishes anything else', async () => {
    const [db, from, idle] = [await database(), await serviceOf({ leads: leads(3) }), await serviceOf({ leads: [] })];
    const baseDir = await temporaryFolder();
    const load = ({ env }: LoggedService, text: string, more: object) =>
      loadPipeline({ text: pipelineText(text), file: 'p.yaml' }, { baseDir, env: { ...env, DATABASE_URL: db.url }, ...more });
    const second = await load(idle, body.replace('leads.csv', 'other.csv'), { set: { name: 'second' } });
    const seen: unknown[] = [];
    const other = defineSink('other', {
      open: async () => {
        seen.push(await runPipeline(second).catch((thrown: unknown) => thrown));
        const commit = async () => {
          seen.push(await counted(db));
          throw new Error('too late');
        };
        return { write: () => {}, commit, abort: () => {} };
      },
    });
    const first = await load(from, body.replace('to:', 'to:\n  - other: {}'), { sinks: [other] });
    const message = expect.stringContaining('to[2] postgres had already published, and will receive all rows again');
    await expect(runPipeline(first)).rejects.toMatchObject({ code: 'E_SINK_FUNCTION', message });
    expect(seen).toMatchObject([{ code: 'E_RUN_LOCKED' }, { rows: 3, runs: 1 }]);
    expect(idle.requests).toEqual([]);
    await expect(readFile(join(baseDir, 'leads.csv'))).rejects.toThrow('ENOENT');
  });

  test.each(['cut', 'applied'] as const)(
    'that is killed at its COMMIT (%s) is repeated by the next run, with all outputs',
    async (fate) => {
      const [db, from, cwd] = [await database(), await serviceOf({ leads: leads(3) }), await workplace(body)];
      const proxy = await postgresProxy(db.port, (message) => (message === 'Q COMMIT' ? fate : 'passed'));
      const started = startCli(['run', 'p.yaml'], { cwd, env: { ...from.env, DATABASE_URL: db.through(proxy.port) } });
      await until(() => proxy.messages.includes('Q COMMIT'));
      started.process.kill('SIGKILL');
      await started.finished;
      await expect(readFile(join(cwd, 'leads.csv'))).rejects.toThrow('ENOENT');
      const again = await cli(['run', 'p.yaml'], { cwd, env: { ...from.env, DATABASE_URL: db.url } });
      expect({ code: again.code, stderr: again.stderr }).toMatchObject({ code: 0 });
      expect(await readFile(join(cwd, 'leads.csv'), 'utf8')).toBe('"lead_id"\n"0"\n"1"\n"2"\n');
      expect(await counted(db)).toMatchObject({ rows: 3 });
    },
  );

  const pgbouncer = ['/usr/sbin/pgbouncer', 'pgbouncer'].find((program) => spawnSync(program, ['--version']).status === 0);
  const pooled = pgbouncer === undefined ? test.skip : test;
  pooled(`is served by PgBouncer in transaction mode (${pgbouncer ?? 'it is not installed here'})`, async () => {
    const [db, from, cwd] = [await database(), await serviceOf({ leads: leads(3) }), await workplace(body)];
    const [folder, [port = 0]] = [await temporaryFolder(), await freePorts(1)];
    await writeFile(join(folder, 'users'), `"owner" "${password.replaceAll('"', '""')}"\n`);
    const settings = {
      ...{ listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '', auth_type: 'plain', auth_file: join(folder, 'users') },
      ...{ pool_mode: 'transaction', default_pool_size: 1, server_reset_query_always: 0, logfile: join(folder, 'log') },
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const target = `${db.name} = host=127.0.0.1 port=${db.port} dbname=${db.name}`;
    await writeFile(join(folder, 'ini'), ['[databases]', target, '[pgbouncer]', ...lines].join('\n'));
    const as = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
    spawnSync('chmod', ['-R', 'a+rwX', folder]);
    const pool = spawn(pgbouncer ?? '', [...as, join(folder, 'ini')], { stdio: 'ignore' });
    closeAfter({ close: () => pool.kill() });
    const env = { ...from.env, DATABASE_URL: db.through(port) };
    await until(async () => (await readFile(join(folder, 'log'), 'utf8').catch(() => '')).includes('process up'));
    const other = new Client({ connectionString: env.DATABASE_URL });
    await other.connect();
    await other.query('CREATE TEMPORARY TABLE leadstream_stage (is_left boolean)');
    await other.end();
    for (const text of [body, body, body.replace('merge', 'replace')]) {
      await writeFile(join(cwd, 'p.yaml'), pipelineText(text));
      const done = await cli(['run', 'p.yaml'], { cwd, env });
      expect({ code: done.code, stderr: done.code === 0 ? '' : done.stderr }).toEqual({ code: 0, stderr: '' });
    }
    expect(await counted(db)).toEqual({ rows: 3, runs: 3 });
  });
});
