import { jsonOf, printable } from '../core/index.js';
import type { Secrets } from './secrets.js';

/** How messages are written: lines for people, or one JSON object per line. */
export type LogFormat = 'text' | 'json';

/** How much is said, from least to most. */
export const logLevels = ['error', 'warn', 'info', 'debug'] as const;

export type LogLevel = (typeof logLevels)[number];

/**
 * Everything that is said besides data goes through here, to stderr, and loses its credentials on the way, and whatever steers a
 * terminal.
 */
export interface Console extends Secrets {
  readonly format: LogFormat;
  /** Most detailed level that is printed. */
  readonly level: LogLevel;
  /** Says something, in one line or several; `details` are for machines. */
  log(level: LogLevel, message: string | readonly string[], details?: Readonly<Record<string, unknown>>): void;
}

/** @param most Most detailed level that is printed. */
export function createConsole(format: LogFormat, most: LogLevel, { hide, redact }: Secrets, stream: NodeJS.WritableStream): Console {
  return {
    format,
    level: most,
    log: (level, message, details = {}) => {
      if (logLevels.indexOf(level) > logLevels.indexOf(most)) return;
      const lines = [message].flat();
      if (format === 'text') stream.write(lines.map((line) => `${printable(redact(line))}\n`).join(''));
      else stream.write(`${jsonOf({ time: new Date().toISOString(), level, message: lines.join('\n'), ...details }, { redact })}\n`);
    },
    hide,
    redact,
  };
}
