import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built command line; `npm test` builds it before the tests. */
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

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

/** Starts `leadstream` with an environment of its own. */
export function startCli(parameters: readonly string[], { cwd, env = {} }: Surroundings): Started {
  if (!existsSync(main)) throw new Error('dist is missing: run `npm run build` first');
  return start(process.execPath, [main, ...parameters], { cwd, env });
}

/** Runs `leadstream` to its end. */
export function cli(parameters: readonly string[], surroundings: Surroundings): Promise<Finished> {
  return startCli(parameters, surroundings).finished;
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
