import { SystemSignal, type ExitCode } from '../core/index.js';
import { createConsole, createSecrets, logFormatIn } from './console.js';
import { secretsIn } from './command.js';
import { reportFailure } from './failure.js';

const { env, stdout, stderr } = process;
const argv = process.argv.slice(2);
const secrets = createSecrets(secretsIn(env));

/** What reporting a crash needs is already loaded; the rest is not. */
export async function runProcess(): Promise<void> {
  outliveReaders();
  const signals = onSignals();
  const cwd = process.cwd();
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

export function crash(error: Error): never {
  process.exit(reportFailure(createConsole(logFormatIn(argv), 'error', secrets, stderr), error));
}

/**
 * Keeps the process alive when a reader of stdout or stderr goes away, or the disk they write to is full. Code that writes data gets the error from the write
 * itself; a lost message has no one to report to.
 */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

async function flushed(stream: NodeJS.WritableStream): Promise<void> {
  await new Promise<void>((done) => void stream.write('', () => done()));
}

/** The signals that ask a command to end: SIGINT, SIGTERM, and SIGHUP when a terminal closes. */
interface Signals {
  readonly signal: AbortSignal;
  readonly exitCode: number | undefined;
  /** A signal that arrives while the process exits no longer changes how it ends. */
  done(code: number): void;
}

const exits = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const satisfies Record<string, ExitCode>;

/** Closing a terminal or stopping a service may send a signal twice, once by a shell and once by the system. */
const onceMs = 500;

/** The second signal ends the process at once, unless it arrives together with the first. */
function onSignals(): Signals {
  const abort = new AbortController();
  let exitCode: ExitCode | undefined;
  let first = 0;
  let finished: number | undefined;

  function take(name: keyof typeof exits): void {
    if (finished !== undefined) process.exit(isWritten() ? finished : exits[name]);
    const now = performance.now();
    if (exitCode !== undefined) {
      if (now - first < onceMs) return;
      process.stderr.write(`leadstream: ended at once by a second ${name}: nothing more is written, and no report\n`);
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
    done: (code) => {
      finished = code;
    },
  };
}

function isWritten(): boolean {
  return process.stdout.writableLength === 0 && process.stderr.writableLength === 0;
}
