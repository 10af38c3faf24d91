import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { closeAfter } from './closing.js';
import { freePorts } from './seaweedfs.js';
import { until } from './until.js';

/** A database of its own on a server of this machine. */
export interface Postgres {
  readonly port: number;
  readonly name: string;
  /** The URL of its owner, with the password encoded. */
  readonly url: string;
  /** That URL by another port. */
  through(port: number): string;
  query(sql: string, user?: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** A connection that ends with the test. */
  session(user?: string): Promise<Client>;
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
  const connected = async (user: string, database = name) => {
    const client = new Client({ host: folder, port, database, user });
    await client.connect();
    return client;
  };
  const query = async (sql: string, user = 'owner', database = name) => {
    const client = await connected(user, database);
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const session = async (user = 'owner') => {
    const client = await connected(user);
    closeAfter({ close: () => client.end() });
    return client;
  };
  if (databases === 1) await query(`CREATE ROLE owner LOGIN PASSWORD '${password}'`, 'postgres', 'postgres');
  await query(`CREATE DATABASE ${name} OWNER owner`, 'postgres', 'postgres');
  await query('ALTER SCHEMA public OWNER TO owner', 'postgres');
  const through = (other: number) => `postgres://owner:${encodeURIComponent(password)}@127.0.0.1:${other}/${name}`;
  return { port, name, url: through(port), through, query, session };
}

/** Starts the server, once per process. It ends when this process does, however that ends. It refuses to run as root. */
async function started() {
  const [folder, user, [port = 0]] = [await mkdtemp(join(tmpdir(), 'leadstream-pg-')), ownUser(), await freePorts(1)];
  if (user) await chown(folder, user.uid, user.gid);
  const [bin, data] = [programs ?? '', join(folder, 'data')];
  const made = ['-D', data, '-U', 'postgres', '-E', 'UTF8', '--no-locale', '--no-sync', '--auth-local=trust', '--auth-host=scram-sha-256'];
  execFileSync(join(bin, 'initdb'), made, { ...user, stdio: 'pipe' });
  const settings = { listen_addresses: '127.0.0.1', port, fsync: 'off', autovacuum: 'off', unix_socket_directories: folder };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // A pipe that closes ends it, even if this process and its group are killed.
  const script = '"$0"/postgres -D "$1" "${@:2}" > /dev/null 2>&1 & read _; kill -QUIT $!; wait; rm -rf "$(dirname "$1")"';
  const server = spawn('bash', ['-c', script, bin, data, ...options], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, ...user });
  server.unref();
  await until(() => spawnSync(join(bin, 'pg_isready'), ['-h', folder, '-p', String(port)]).status === 0);
  return { folder, port };
}

function debianFolders(): readonly string[] {
  const folder = '/usr/lib/postgresql';
  const versions = existsSync(folder) ? readdirSync(folder).toSorted((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(folder, version, 'bin'));
}

function ownUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres']));
  return { uid: id('-u'), gid: id('-g') };
}
