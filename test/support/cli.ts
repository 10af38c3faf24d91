import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runCli } from '../../src/cli/run-cli.js';

/** The built command; `npm test` builds it before the tests. */
const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
}

interface Surroundings {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a `leadstream` command line to completion, in this process. */
export async function cli(
  parameters: readonly string[],
  {
    cwd,
    env = {},
    signal = new AbortController().signal,
    isTTY = false,
  }: Surroundings & { readonly signal?: AbortSignal; /** Whether both streams are a terminal. */ readonly isTTY?: boolean },
): Promise<Finished> {
  const terminal = isTTY ? { isTTY, columns: 80 } : {};
  const [stdout, stderr] = [Object.assign(new Collected(), terminal), Object.assign(new Collected(), terminal)];
  const code = await runCli(parameters, { env, cwd, stdout, stderr, signal });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** A stream that keeps what is written to it. */
class Collected extends Writable {
  readonly #pieces: Buffer[] = [];

  get text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(piece);
    done();
  }
}

/** Starts the built command in a separate process: for signals, pipes, exit codes and anything else that only a process has. */
export function startCli(parameters: readonly string[], { cwd, env = {} }: Surroundings): Started {
  if (!existsSync(main)) throw new Error('dist is missing: run `npm run build` first');
  return start(process.execPath, [main, ...parameters], { cwd, env });
}

/** Starts any program. */
export function start(command: string, parameters: readonly string[], { cwd, env = {} }: Surroundings): Started {
  const child = spawn(command, parameters, { cwd, env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env } });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...output }));
  });
  return { process: child, finished };
}
