import { SystemSignal, type ExitCode } from '../core/index.js';

/** The signals that ask a command to end: SIGINT, SIGTERM, and SIGHUP of a terminal that closes. */
export interface Signals {
  /** Aborted by the first signal, which is its reason. */
  readonly signal: AbortSignal;
  /** Exit code of the signal that came: 130, 143 or 129. */
  readonly exitCode: number | undefined;
  /** Gives the signals back to the system. */
  release(): void;
}

const exits = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const satisfies Record<string, ExitCode>;

type Ending = keyof typeof exits;

const names: readonly Ending[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Lets the first signal stop the work and the second end the process at once. */
export function onSignals(): Signals {
  const abort = new AbortController();
  let exitCode: ExitCode | undefined;

  function take(name: NodeJS.Signals): void {
    if (!isEnding(name)) return;
    if (exitCode !== undefined) process.exit(exits[name]);
    exitCode = exits[name];
    abort.abort(new SystemSignal(name, exitCode));
  }

  for (const name of names) process.on(name, take);
  return {
    signal: abort.signal,
    get exitCode() {
      return exitCode;
    },
    release: () => {
      for (const name of names) process.off(name, take);
    },
  };
}

function isEnding(name: NodeJS.Signals): name is Ending {
  return Object.hasOwn(exits, name);
}
