import type { Redactor } from '../index.js';

/** How messages are written: lines for people, or one JSON object per line. */
export type LogFormat = 'text' | 'json';

/** How much is said, from least to most. */
export const logLevels = ['error', 'warn', 'info', 'debug'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Everything that is said besides data goes through here, to stderr, and loses its credentials on the way. */
export interface Console {
  readonly format: LogFormat;
  /** The most that is said. */
  readonly level: LogLevel;
  /** Says something; `details` are for machines. */
  log(level: LogLevel, message: string, details?: Readonly<Record<string, unknown>>): void;
  /** Names values that must never be seen from now on. */
  hide(secrets: readonly string[]): void;
  /** Takes the credentials out of a text. */
  readonly redact: Redactor;
}

/**
 * @param most The most that is said.
 * @param redactorOf Makes what takes secrets out of a text.
 */
export function createConsole(
  format: LogFormat,
  most: LogLevel,
  redactorOf: (secrets: Iterable<string>) => Redactor,
  stream: NodeJS.WritableStream = process.stderr,
): Console {
  const secrets = new Set<string>();
  let redact = redactorOf(secrets);

  return {
    format,
    level: most,
    log: (level, message, details = {}) => {
      if (logLevels.indexOf(level) > logLevels.indexOf(most)) return;
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
