import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Order } from './lock-child.js';

/** Runs a TypeScript program in a process of its own, with a channel for messages. */
export function start(script: string, args: readonly string[] = []): ChildProcess {
  return fork(script, args, { execArgv: ['--import', 'tsx'], env: { ...process.env, NODE_OPTIONS: '' } });
}

/** Another run: a process that locks as it is told. */
export class Runner implements AsyncDisposable {
  private constructor(readonly child: ChildProcess) {}

  static async start(): Promise<Runner> {
    const child = start('test/system/store/lock-child.ts');
    await once(child, 'message');
    return new Runner(child);
  }

  /** `won`, or code and message of the failure. */
  async lock(path: string, at = 0): Promise<string> {
    return this.#tell({ lock: path, at });
  }

  async release(): Promise<void> {
    await this.#tell({ release: true });
  }

  /** As `kill -9`. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #tell(order: Order): Promise<string> {
    const answer = once(this.child, 'message');
    this.child.send(order);
    const [text] = (await answer) as [string];
    return text;
  }
}

export function lockPath(output: string): string {
  return join(dirname(output), `.${basename(output)}.lock`);
}

/** A lock file as this process would write it, changed in places; its last sign of life is `silentMs` ago. */
export async function plantLock(output: string, changes: Readonly<Record<string, unknown>>, silentMs = 0): Promise<void> {
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const own = {
    id: '0123456789abcdef',
    run: 'planted',
    host: hostname(),
    space: `${boot} other`,
    pid: 1,
    started: '1',
    since: '2026-01-01T00:00:00.000Z',
  };
  await writeFile(lockPath(output), JSON.stringify({ ...own, ...changes }));
  const then = new Date(Date.now() - silentMs);
  await utimes(lockPath(output), then, then);
}
