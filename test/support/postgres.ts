import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePorts } from './seaweedfs.js';
import { until } from './until.js';

/** A database of its own on a server of this machine. */
export interface Postgres {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  /** The URL of its owner, with the password encoded. */
  readonly url: string;
  query(sql: string, user?: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Odd enough to reveal every way of writing it. */
export const password = 'p@ss/w%rd é&"7f3';

/** Where the programs of the server are: in a folder of the environment, the newest of Debian, or in the path. */
const programs = [process.env['POSTGRES_PROGRAMS'] ?? '', ...debianFolders(), ...(process.env['PATH'] ?? '').split(':')].find((folder) =>
  existsSync(join(folder, 'initdb')),
);

/** Why there is no server here. */
export const postgresMissing = programs === undefined ? 'postgres is not installed here' : undefined;

/** Declares a suite of tests, in which `database` makes an empty database. Without a server, the report shows that they are skipped. */
export function inPostgres(title: string, body: (database: () => Promise<Postgres>) => void): void {
  (postgresMissing === undefined ? describe : describe.skip)(`${title} (${postgresMissing ?? 'PostgreSQL'})`, () => body(newDatabase));
}

let running: Promise<{ readonly folder: string; readonly port: number }> | undefined;
let databases = 0;

async function newDatabase(): Promise<Postgres> {
  const { folder, port } = await (running ??= started());
  const name = `test_${(databases += 1)}`;
  const query = async (database: string, sql: string, user = 'postgres') => {
    const client = new Client({ host: folder, port, database, user });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  if (databases === 1) await query('postgres', `CREATE ROLE owner LOGIN PASSWORD '${password}'`);
  await query('postgres', `CREATE DATABASE ${name} OWNER owner`);
  await query(name, 'ALTER SCHEMA public OWNER TO owner');
  const url = `postgres://owner:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}`;
  return { host: folder, port, name, url, query: (sql, user = 'owner') => query(name, sql, user) };
}

/** Starts the server, once per process. It ends when this process does, however that ends. It refuses to run as root. */
async function started() {
  const bin = programs ?? '';
  const [folder, user, [port]] = [await mkdtemp(join(tmpdir(), 'leadstream-pg-')), ownUser(), await freePorts(1)];
  if (port === undefined) throw new Error('there is no free port');
  const data = join(folder, 'data');
  await mkdir(data, { mode: 0o700 });
  await writeFile(join(folder, 'password'), password);
  for (const path of [folder, data, join(folder, 'password')]) if (user) await chown(path, user.uid, user.gid);
  const auth = ['--auth-local=trust', '--auth-host=scram-sha-256', `--pwfile=${join(folder, 'password')}`];
  const made = spawnSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-E', 'UTF8', '--no-locale', '--no-sync', ...auth], {
    ...user,
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  const settings = { listen_addresses: '127.0.0.1', port, fsync: 'off', autovacuum: 'off', unix_socket_directories: folder };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // A pipe that closes ends it, even if this process and its group are killed.
  const script = '"$0"/postgres -D "$1" "${@:2}" > /dev/null 2>&1 & read _; kill -QUIT $!; wait; rm -rf "$(dirname "$1")"';
  const server = spawn('bash', ['-c', script, bin, data, ...options], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, ...user });
  server.unref();
  await until(() => accepts(folder, port));
  return { folder, port };
}

async function accepts(host: string, port: number): Promise<boolean> {
  const client = new Client({ host, port, database: 'postgres', user: 'postgres' });
  client.on('error', () => {});
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}

function debianFolders(): readonly string[] {
  const folder = '/usr/lib/postgresql';
  const versions = existsSync(folder) ? readdirSync(folder).toSorted((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(folder, version, 'bin'));
}

function ownUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string) => Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}
