import type { Secrets } from './secrets.js';

/** How messages are written: lines for people, or one JSON object per line. */
export type LogFormat = 'text' | 'json';

/** How much is said, from least to most. */
export const logLevels = ['error', 'warn', 'info', 'debug'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Everything that is said besides data goes through here, to stderr, and loses its credentials on the way. */
export interface Console extends Secrets {
  readonly format: LogFormat;
  /** The most that is said. */
  readonly level: LogLevel;
  /** Says something; `details` are for machines. */
  log(level: LogLevel, message: string, details?: Readonly<Record<string, unknown>>): void;
}

/** @param most The most that is said. */
export function createConsole(format: LogFormat, most: LogLevel, { hide, redact }: Secrets, stream: NodeJS.WritableStream): Console {
  return {
    format,
    level: most,
    log: (level, message, details = {}) => {
      if (logLevels.indexOf(level) > logLevels.indexOf(most)) return;
      const line = format === 'json' ? JSON.stringify({ time: new Date().toISOString(), level, message, ...details }) : message;
      stream.write(`${redact(line)}\n`);
    },
    hide,
    redact,
  };
}
