import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startExample } from '../support/examples.js';
import { temporaryFolder } from '../support/temporary.js';
import { listed, service } from '../support/services.js';
import { until } from '../support/until.js';
import { generate } from '../../src/service/index.js';
import { Client } from 'pg';

/** The folder of the newest server's programs on Debian, or the one in the path; `undefined` without a server. */
const postgresPrograms = foldersOfPrograms().find((folder) => spawnSync(join(folder, 'postgres'), ['--version']).status === 0);

/** A server that listens only on a socket in its own folder. */
interface Postgres {
  /** Environment for clients. */
  readonly env: Readonly<Record<string, string>>;
  query(sql: string): Promise<readonly unknown[]>;
  stop(): Promise<void>;
}

const running: Postgres[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function postgres(): Promise<Postgres> {
  const server = await startPostgres();
  running.push(server);
  return server;
}

const title = 'postgres-upsert.mts, killed in the middle and run again, leaves one row of each lead and writes no row twice';

/** With a server that is there; without it, the report shows a skipped test that names it. */
if (postgresPrograms === undefined) test.skip(`${title}: postgres is not installed here`, () => {});
else
  test(title, async () => {
    const [database, from] = [
      await postgres(),
      await service(generate({ leads: 20_000, bridges: 50, seed: 7 }), { faults: ['delay=30@rate=1'] }),
    ];
    const env = { ...from.env, ...database.env };
    const count = async () => {
      const [row] = await database.query(`select to_regclass('leads') is not null as made`);
      if (!(row as { made: boolean }).made) return 0;
      return Number(((await database.query('select count(*) from leads'))[0] as { count: string }).count);
    };

    const killed = await startExample('postgres-upsert.mts', env);
    await until(async () => (await count()) >= 3_000);
    killed.process.kill('SIGKILL');
    await killed.finished;
    const kept = await count();
    expect(kept).toBeLessThan(20_000);
    expect(kept % 500).toBe(0);

    const again = await (await startExample('postgres-upsert.mts', env)).finished;
    expect({ ...again, stdout: JSON.parse(again.stdout || '{}') }).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: { read: 20_000, inserted: 20_000 - kept, changed: 0 },
    });
    const bridges = new Map((await listed(from, 'bridges')).map(({ id, title }) => [id, title]));
    const expected = (await listed(from, 'leads')).map(({ lead_id, lead_status, timestamp, bridge_id }) => ({
      ...{ lead_id, lead_status, bridge_id, bridge_title: bridges.get(bridge_id ?? '') ?? null },
      created_at: timestamp === '' ? null : new Date(Number(timestamp) * 1_000),
    }));
    const order = (rows: readonly unknown[]) =>
      (rows as readonly { lead_id: string }[]).toSorted((a, b) => (a.lead_id < b.lead_id ? -1 : 1));
    expect(order(await database.query('select * from leads'))).toEqual(order(expected));

    await database.query(`update leads set bridge_title = 'Stale' where lead_id in (select lead_id from leads limit 7)`);
    const repaired = await (await startExample('postgres-upsert.mts', env)).finished;
    expect(JSON.parse(repaired.stdout)).toEqual({ read: 20_000, inserted: 0, changed: 7 });
  });

/** Starts a server with an empty database. It refuses to run as root, so root starts it as the user that Debian created for it. */
async function startPostgres(): Promise<Postgres> {
  const programs = postgresPrograms ?? '';
  const [folder, user] = [await temporaryFolder(), ownUser()];
  const data = join(folder, 'data');
  await mkdir(data, { mode: 0o700 });
  if (user) await Promise.all([chown(folder, user.uid, user.gid), chown(data, user.uid, user.gid)]);
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'leads', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    user,
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  const settings = ['-c', 'listen_addresses=', '-c', 'fsync=off', '-c', 'autovacuum=off', '-c', `unix_socket_directories=${folder}`];
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...settings], { stdio: 'ignore', ...user });
  const env = { PGHOST: folder, PGUSER: 'leads', PGDATABASE: 'postgres' };
  await until(() => accepts(server, env));
  return { env, query: (sql) => query(env, sql), stop: () => stop(server) };
}

async function accepts(server: ChildProcess, env: Postgres['env']): Promise<boolean> {
  if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`);
  return query(env, 'select 1').then(
    () => true,
    () => false,
  );
}

async function query(env: Postgres['env'], sql: string): Promise<readonly unknown[]> {
  const client = new Client({ host: env.PGHOST, user: env.PGUSER, database: env.PGDATABASE });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows;
  } finally {
    await client.end();
  }
}

/** Stops the server immediately, along with all connections. */
async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  server.kill('SIGQUIT');
  await once(server, 'exit');
}

function foldersOfPrograms(): readonly string[] {
  const debian = '/usr/lib/postgresql';
  const versions = spawnSync('ls', [debian]).status === 0 ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  return [...versions.map((version) => join(debian, version, 'bin')), ...(process.env.PATH ?? '').split(':')];
}

function ownUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string) => Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}
