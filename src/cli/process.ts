import { SystemSignal, type ExitCode } from '../core/index.js';
import { createConsole, createSecrets, logFormatIn } from './console.js';
import { secretsIn } from './command.js';
import { reportFailure } from './failure.js';

const { env, stdout, stderr } = process;
const argv = process.argv.slice(2);
const secrets = createSecrets(secretsIn(env));

/** What reporting a crash needs is loaded already; the rest is not. */
export async function runProcess(): Promise<void> {
  // A reader may be gone, or the disk full: code that writes data gets the error from its write, and a lost message is no failure.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  const signals = onSignals();
  const cwd = process.cwd();
  const { runCli } = await import('./run-cli.js');
  const exit = await runCli(argv, { env, cwd, stdout, stderr, signal: signals.signal, secrets });
  // Work done before a signal stays done; work that failed gets the signal's exit code.
  process.exitCode = exit === 0 ? exit : (signals.exitCode ?? exit);
  signals.done(process.exitCode);
  // Everything is cleaned up: a slow reader of stdout must not delay a process that was asked to end.
  if (signals.exitCode !== undefined) process.exit();
  // Nor must anything that a plug-in left open, like a connection pool. Printed output must arrive first. While Node exits by itself, it
  // hands the signals back to the system, and a signal at that moment would make a published run look failed.
  await Promise.all([flushed(stdout), flushed(stderr)]);
  process.exit();
}

export function crash(error: Error): never {
  process.exit(reportFailure(createConsole(logFormatIn(argv), 'error', secrets, stderr), error));
}

async function flushed(stream: NodeJS.WritableStream): Promise<void> {
  await new Promise<void>((done) => void stream.write('', () => done()));
}

/** The signals that end a command; SIGHUP comes when a terminal closes. */
const exits = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const satisfies Record<string, ExitCode>;

/** A closing terminal or a stopped service may send a signal twice, once by a shell and once by the system. */
const onceMs = 500;

/** A second signal ends the process at once, unless it arrives with the first. */
function onSignals() {
  const abort = new AbortController();
  let exitCode: ExitCode | undefined;
  let first = 0;
  let finished: number | undefined;

  function take(name: keyof typeof exits): void {
    const isWritten = stdout.writableLength === 0 && stderr.writableLength === 0;
    if (finished !== undefined) process.exit(isWritten ? finished : exits[name]);
    const now = performance.now();
    if (exitCode !== undefined) {
      if (now - first < onceMs) return;
      stderr.write(`leadstream: ended at once by a second ${name}: nothing more is written, and no report\n`);
      process.exit(exits[name]);
    }
    first = now;
    exitCode = exits[name];
    abort.abort(new SystemSignal(name, exitCode));
  }

  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => take(name));
  return {
    signal: abort.signal,
    get exitCode() {
      return exitCode;
    },
    /** A signal during the exit no longer changes how the process ends. */
    done: (code: number) => {
      finished = code;
    },
  };
}
