/** SIGINT and SIGTERM while a command runs. */
export interface Signals {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Exit code of the signal that came: 130 or 143. */
  readonly exitCode: number | undefined;
  /** Gives the signals back to the system. */
  release(): void;
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Lets the first signal stop the work and the second end the process at once. */
export function onSignals(): Signals {
  const abort = new AbortController();
  let exitCode: number | undefined;

  function take(name: NodeJS.Signals): void {
    if (name !== 'SIGINT' && name !== 'SIGTERM') return;
    if (exitCode !== undefined) process.exit(exitCodes[name]);
    exitCode = exitCodes[name];
    abort.abort();
  }

  process.on('SIGINT', take).on('SIGTERM', take);
  return {
    signal: abort.signal,
    get exitCode() {
      return exitCode;
    },
    release: () => void process.off('SIGINT', take).off('SIGTERM', take),
  };
}
