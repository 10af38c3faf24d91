import { SystemSignal, type ExitCode } from '../core/index.js';

/** The signals that ask a command to end: SIGINT, SIGTERM, and SIGHUP when a terminal closes. */
export interface Signals {
  /** Aborted by the first signal, which is the reason of the abort. */
  readonly signal: AbortSignal;
  /** Exit code of the signal received: 130, 143 or 129. */
  readonly exitCode: number | undefined;
  /** Marks the work as done: a signal that arrives while the process exits no longer changes how it ends. */
  done(code: number): void;
}

const exits = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const satisfies Record<string, ExitCode>;

type Ending = keyof typeof exits;

const names: readonly Ending[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Closing a terminal or stopping a service may send a signal twice, once by a shell and once by the system. */
const onceMs = 500;

/** Stops the work on the first signal. The second ends the process at once, unless it arrives together with the first. */
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
      process.stderr.write(`leadstream: ended at once by a second ${name}: nothing more is written, and no report\n`);
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

/** Whether everything printed has left this process. */
function isWritten(): boolean {
  return process.stdout.writableLength === 0 && process.stderr.writableLength === 0;
}

function isEnding(name: NodeJS.Signals): name is Ending {
  return Object.hasOwn(exits, name);
}
