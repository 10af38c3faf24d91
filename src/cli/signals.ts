import { SystemSignal, type ExitCode } from '../core/index.js';

/** The signals that ask a command to end: SIGINT, SIGTERM, and SIGHUP of a terminal that closes. */
export interface Signals {
  /** Aborted by the first signal, which is its reason. */
  readonly signal: AbortSignal;
  /** Exit code of the signal that came: 130, 143 or 129. */
  readonly exitCode: number | undefined;
  /** The work is done: a signal that comes while the process ends changes nothing of how it ends. */
  done(code: number): void;
}

const exits = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const satisfies Record<string, ExitCode>;

type Ending = keyof typeof exits;

const names: readonly Ending[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Who closes a terminal or stops a service may send a signal twice, as by a shell and by the system. */
const onceMs = 500;

/** Lets the first signal stop the work and the second, unless it comes with the first, end the process at once. */
export function onSignals(): Signals {
  const abort = new AbortController();
  let exitCode: ExitCode | undefined;
  let first = 0;
  let finished: number | undefined;

  function take(name: NodeJS.Signals): void {
    if (!isEnding(name)) return;
    if (finished !== undefined) process.exit(isWritten() ? finished : exits[name]);
    const now = performance.now();
    if (exitCode !== undefined) {
      if (now - first < onceMs) return;
      process.stderr.write(`leadstream: a second ${name} ended it at once: nothing more is written, and no report\n`);
      process.exit(exits[name]);
    }
    first = now;
    exitCode = exits[name];
    abort.abort(new SystemSignal(name, exitCode));
  }

  for (const name of names) process.on(name, take);
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

/** Whether what was printed has left this process. */
function isWritten(): boolean {
  return process.stdout.writableLength === 0 && process.stderr.writableLength === 0;
}

function isEnding(name: NodeJS.Signals): name is Ending {
  return Object.hasOwn(exits, name);
}
