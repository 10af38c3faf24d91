import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { build } from 'esbuild';
import type { Dataset } from './data.js';

/** Compiled entry points for processes that run on plain Node: a TypeScript loader would count as part of them. */
export interface Workshop {
  readonly folder: string;
  readonly runner: string;
  readonly server: string;
  readonly meter: string;
  close(): Promise<void>;
}

/** Compiles the processes into a temporary folder with the packages of this checkout. */
export async function openWorkshop(): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'leadstream-bench-run-'));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await build({
    entryPoints: ['runner', 'server', 'meter'].map((name) => join('test/bench', `${name}.ts`)),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
  });
  return {
    folder,
    runner: join(folder, 'runner.mjs'),
    server: join(folder, 'server.mjs'),
    meter: join(folder, 'meter.mjs'),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Returns the output of a process that succeeds. @throws {Error} If it fails, with its error output. */
export async function output(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], timeout: 900_000 });
  const said = { out: '', error: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.error += text));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`a measured process ended with ${String(code)}: ${said.error}`);
  return said.out;
}

/** A running page server. */
export interface PageServer {
  readonly url: string;
  /** Returns the CPU time used so far, in seconds. */
  cpuSeconds(): Promise<number>;
  close(): Promise<void>;
}

/** Starts a page server in a separate process. It ends with its standard input, so never later than this process. */
export async function startServer(workshop: Workshop, data: Dataset): Promise<PageServer> {
  const child = spawn(process.execPath, [workshop.server, JSON.stringify(data)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout);
  const [port] = await once(lines, 'line');
  const url = `http://127.0.0.1:${String(port)}`;
  return {
    url,
    cpuSeconds: async () => {
      const { user, system }: NodeJS.CpuUsage = JSON.parse(await (await fetch(`${url}/stats`)).text());
      return (user + system) / 1e6;
    },
    close: async () => {
      const closed = once(child, 'close');
      child.stdin.end();
      await closed;
    },
  };
}
