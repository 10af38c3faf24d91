import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './seaweedfs.js';
import { until } from './until.js';

/** Where the programs of the server are: in a folder of the environment, the newest of Debian, or in the path. */
const programs = [process.env['POSTGRES_PROGRAMS'] ?? '', ...debianFolders(), ...(process.env['PATH'] ?? '').split(':')].find((folder) =>
  existsSync(join(folder, 'initdb')),
);

/** Why there is no server here. */
export const postgresMissing = programs === undefined ? 'postgres is not installed here' : undefined;

/** Starts a server. It ends when this process does, however that ends. It refuses to run as root. */
export async function startPostgres(more: Readonly<Record<string, string>> = {}) {
  const [folder, user, [port = 0]] = [await mkdtemp(join(tmpdir(), 'leadstream-pg-')), ownUser(), await freePorts(1)];
  if (user) await chown(folder, user.uid, user.gid);
  const [bin, data] = [programs ?? '', join(folder, 'data')];
  const made = ['-D', data, '-U', 'postgres', '-E', 'UTF8', '--no-locale', '--no-sync', '--auth-local=trust', '--auth-host=scram-sha-256'];
  execFileSync(join(bin, 'initdb'), made, { ...user, stdio: 'pipe' });
  const settings = { listen_addresses: '127.0.0.1', port, fsync: 'off', autovacuum: 'off', unix_socket_directories: folder, ...more };
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
