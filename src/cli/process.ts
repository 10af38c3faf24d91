import { LeadstreamError } from '../core/index.js';
import { createConsole } from './console.js';
import { secretsIn } from './context.js';
import { reportFailure } from './failure.js';
import { createSecrets } from './secrets.js';
import { onSignals } from './signals.js';
import { flushed, outliveReaders } from './streams.js';
import { logFormatIn } from './usage.js';

const { env, stdout, stderr } = process;
const argv = process.argv.slice(2);
const secrets = createSecrets(secretsIn(env));

/** Runs the command line of this process and sets its exit code. What reporting a crash needs is already loaded; the rest is not. */
export async function runProcess(): Promise<void> {
  outliveReaders();
  const signals = onSignals();
  const cwd = workingFolder();
  const { runCli } = await import('./run-cli.js');
  const exit = await runCli(argv, { env, cwd, stdout, stderr, signal: signals.signal, secrets });
  // Work that was done before a signal arrived stays done; work that failed gets the exit code of the signal.
  process.exitCode = exit === 0 ? exit : (signals.exitCode ?? exit);
  signals.done(process.exitCode);
  // Everything is cleaned up: a slow reader of stdout must not hold up a process that was asked to end.
  if (signals.exitCode !== undefined) process.exit();
  // Nothing that a plug-in left open, like a connection pool, may hold it up either. Printed output must arrive first. Node hands the signals back to the
  // system while it exits by itself, and a signal at that moment would make a published run look failed.
  await Promise.all([flushed(stdout), flushed(stderr)]);
  process.exit();
}

/** @throws {LeadstreamError} `E_RUN_FOLDER` when the folder was removed, for example while a shell is still in it. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new LeadstreamError('E_RUN_FOLDER', 'the working folder no longer exists', { cause });
  }
}

/** Ends the process after an uncaught error. */
export function crash(error: Error): never {
  process.exit(reportFailure(createConsole(logFormatIn(argv), 'error', secrets, stderr), error));
}
