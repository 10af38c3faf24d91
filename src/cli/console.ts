import { jsonOf, logEvents, printable, type LogEvent } from '../core/index.js';
import { paintedHead, plain, type Painter } from './colour.js';
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
  /** Says something, in one line or several. */
  log(level: LogLevel, message: string | readonly string[]): void;
  /**
   * Reports an event of the log, whose level is its own.
   *
   * @param facts For machines.
   * @param words For people, who are told nothing without.
   */
  event(name: LogEvent, facts: object, words?: string | readonly string[]): void;
}

/**
 * @param most Most detailed level that is printed.
 * @param paint Colours of text on that stream. Default: none.
 */
export function createConsole(
  format: LogFormat,
  most: LogLevel,
  { hide, redact }: Secrets,
  stream: NodeJS.WritableStream,
  paint: Painter = plain,
): Console {
  function say(event: LogEvent, level: LogLevel, lines: readonly string[], facts: object): void {
    if (logLevels.indexOf(level) > logLevels.indexOf(most)) return;
    const time = new Date().toISOString();
    if (format === 'json') stream.write(`${jsonOf({ time, level, event, ...inOneLine(lines), ...facts }, { redact })}\n`);
    else if (lines.length > 0) stream.write(lines.map((line) => `${painted(printable(redact(line)), level, paint)}\n`).join(''));
  }
  return {
    format,
    level: most,
    log: (level, message) => say('message', level, [message].flat(), {}),
    event: (name, facts, words = []) => say(name, logEvents[name].level, [words].flat(), facts),
    hide,
    redact,
  };
}

function painted(line: string, level: LogLevel, paint: Painter): string {
  if (level === 'debug') return paint('aside', line);
  return level === 'info' ? line : paintedHead(line, level === 'error' ? 'bad' : 'beware', paint);
}

/** Several messages stand in one text, and by themselves as well. */
function inOneLine(lines: readonly string[]): object {
  const [first, ...others] = lines;
  if (first === undefined) return {};
  return others.length === 0 ? { message: first } : { message: lines.map((line) => line.trim()).join('; '), messages: lines };
}
