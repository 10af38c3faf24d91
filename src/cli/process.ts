import module from 'node:module';
import { LeadstreamError } from '../core/index.js';
import { createConsole } from './console.js';
import { secretsIn } from './context.js';
import { reportFailure } from './failure.js';
import { createSecrets } from './secrets.js';
import { onSignals } from './signals.js';
import { flushed, outliveReaders } from './streams.js';
import { logFormatIn } from './usage.js';

const { env, stdout, stderr } = process;
/** From 22.10 on. */
const { flushCompileCache }: typeof module & { readonly flushCompileCache?: () => void } = module;
const argv = process.argv.slice(2);
const secrets = createSecrets(secretsIn(env));

/**
 * Runs the command line of this process and sets its exit code. What it needs to report a crash is loaded by now, the rest is not.
 *
 * @param importModule What this script, which was compiled earlier, does not have.
 */
export async function runProcess(importModule: (url: string) => Promise<unknown>): Promise<void> {
  outliveReaders();
  const signals = onSignals();
  const cwd = workingFolder();
  const { runCli } = await import('./run-cli.js');
  const exit = await runCli(argv, { env, cwd, stdin: () => process.stdin, stdout, stderr, signal: signals.signal, secrets, importModule });
  // Work that was done before a signal came stays done; work that failed failed by the signal.
  process.exitCode = exit === 0 ? exit : (signals.exitCode ?? exit);
  signals.done(process.exitCode);
  // Everything is cleaned up: a reader of stdout that takes its time must not hold a process that was told to end.
  if (signals.exitCode !== undefined) process.exit();
  // What a plug-in left open, like a pool of connections, must not hold it either; what was printed has to arrive first. Node gives the signals back
  // to the system while it ends by itself, and one that comes then would make a failure of a run that published.
  await Promise.all([flushed(stdout), flushed(stderr)]);
  flushCompileCache?.();
  process.exit();
}

/** @throws {LeadstreamError} `E_RUN_FOLDER` when it was removed, as of a shell that still stands in it. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new LeadstreamError('E_RUN_FOLDER', 'the working folder is not there any more', { cause });
  }
}

/** Ends the process after an error that nobody caught. */
export function crash(error: Error): never {
  process.exit(reportFailure(createConsole(logFormatIn(argv), 'error', secrets, stderr), error));
}
