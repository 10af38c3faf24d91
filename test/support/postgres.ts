import { spawnSync } from 'node:child_process';
import { chown, mkdir } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { temporaryFolder } from './temporary.js';
import { until } from './until.js';

/** The folder of the newest server's programs on Debian, or the one in the path; `undefined` without a server. */
export const postgresPrograms = foldersOfPrograms().find((folder) => spawnSync(join(folder, 'postgres'), ['--version']).status === 0);

/** A server that listens only on a socket in its own folder. */
export interface Postgres {
  /** Environment for clients. */
  readonly env: Readonly<Record<string, string>>;
  query(sql: string): Promise<readonly unknown[]>;
  stop(): Promise<void>;
}

/** Starts a server with an empty database. It refuses to run as root, so root starts it as the user that Debian created for it. */
export async function startPostgres(): Promise<Postgres> {
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
