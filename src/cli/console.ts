import type { Redactor } from '../index.js';

/** How messages are written: lines for people, or one JSON object per line. */
export type LogFormat = 'text' | 'json';

export type LogLevel = 'error' | 'warn' | 'info';

/** Everything that is said besides data goes through here, to stderr, and loses its credentials on the way. */
export interface Console {
  readonly format: LogFormat;
  readonly quiet: boolean;
  /** Says something; `details` are for machines. */
  log(level: LogLevel, message: string, details?: Readonly<Record<string, unknown>>): void;
  /** Names values that must never be seen from now on. */
  hide(secrets: readonly string[]): void;
  /** Takes the credentials out of a text. */
  readonly redact: Redactor;
}

/**
 * @param quiet Whether only errors are said.
 * @param redactorOf Makes what takes secrets out of a text.
 */
export function createConsole(
  format: LogFormat,
  quiet: boolean,
  redactorOf: (secrets: Iterable<string>) => Redactor,
  stream: NodeJS.WritableStream = process.stderr,
): Console {
  const secrets = new Set<string>();
  let redact = redactorOf(secrets);

  return {
    format,
    quiet,
    log: (level, message, details = {}) => {
      if (quiet && level !== 'error') return;
      const line = format === 'json' ? JSON.stringify({ time: new Date().toISOString(), level, message, ...details }) : message;
      stream.write(`${redact(line)}\n`);
    },
    hide: (values) => {
      for (const value of values) secrets.add(value);
      redact = redactorOf(secrets);
    },
    redact: (text) => redact(text),
  };
}
