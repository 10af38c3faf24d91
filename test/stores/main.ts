/**
 * Runs the contract of an object store against moto, and shows that s3rver is refused, since it overwrites in spite of conditions; and that a host without an
 * address is named. `moto_server` comes from PyPI (`moto[server]`) and must be on the path; s3rver comes from npm.
 *
 * `npm run stores`; exits with 1 when a store behaved otherwise.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { checkStore, objectsAt } from '../../src/store/index.js';
import { freePorts } from '../support/seaweedfs.js';

const folder = await mkdtemp(join(tmpdir(), 'leadstream-stores-'));
const servers: ChildProcess[] = [];

/** Starts a server that listens on a free port. @returns Its URL. */
async function started(program: string, args: (port: number) => readonly string[]): Promise<string> {
  const [port = 0] = await freePorts(1);
  servers.push(spawn(program, args(port), { stdio: 'ignore', detached: true }));
  while (!(await listens(port))) await wait(100);
  return `http://127.0.0.1:${port}`;
}

function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => socket.destroy().destroyed,
    () => false,
  );
}

async function passesOnMoto(): Promise<boolean> {
  const endpoint = await started('moto_server', (port) => ['-p', String(port)]);
  process.env['AWS_ENDPOINT_URL_S3'] = endpoint;
  await new S3Client({ endpoint, forcePathStyle: true }).send(new CreateBucketCommand({ Bucket: 'lake' }));
  const options = { stdio: 'inherit', env: { ...process.env, TEST_STORE: 'moto' } } as const;
  const [code] = await once(
    spawn('npm', ['run', '-s', 'jest', '--', 'test/heavy/store/objects.test.ts', '-t', 'objects in'], options),
    'exit',
  );
  return code === 0;
}

async function isRefused(endpoint: string, text: string): Promise<boolean> {
  const failure: unknown = await checkStore(objectsAt('s3://lake/place', { endpoint })).catch((thrown: unknown) => thrown);
  console.log(String(failure));
  return failure instanceof Error && failure.message.includes(text);
}

Object.assign(process.env, { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' });
try {
  const liar = await started('npx', (port) => ['-y', 's3rver', '-s', '-d', folder, '-p', String(port), '--configure-bucket', 'lake']);
  const outcomes = [await isRefused(liar, 'single_writer'), await isRefused('http://nowhere.invalid', 'ENOTFOUND'), await passesOnMoto()];
  process.exitCode = outcomes.includes(false) ? 1 : 0;
} finally {
  // Each is the leader of its group, with what npx started.
  for (const { pid } of servers) if (pid !== undefined) process.kill(-pid);
  await rm(folder, { recursive: true, force: true });
}
