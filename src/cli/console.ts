import { createRedactor, jsonOf, logEvents, printable, type LogEvent } from '../core/index.js';
import { paintedHead, plain, type Painter } from './colour.js';

/** How messages are written: lines for people, or one JSON object per line. */
export type LogFormat = 'text' | 'json';

/** Levels of detail, from least to most. */
export const logLevels = ['error', 'warn', 'info', 'debug'] as const;

export type LogLevel = (typeof logLevels)[number];

/** The values that must never be shown. A command adds those that it learns of. */
export interface Secrets {
  /** Adds values that must never be shown from now on. */
  hide(values: readonly string[]): void;
  /** Removes them from a text. */
  redact(text: string): string;
}

/** Prints everything but data, to stderr. Removes credentials and control characters of terminals. */
export interface Console extends Secrets {
  readonly format: LogFormat;
  /** Most detailed level that is printed. */
  readonly level: LogLevel;
  /** Prints a message of one line or several. */
  log(level: LogLevel, message: string | readonly string[]): void;
  /**
   * Reports an event of the log. The event determines the level.
   *
   * @param facts Fields for machines.
   * @param words Text for people, who see nothing without it.
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

/** Joins several messages into one text, and lists them separately as well. */
function inOneLine(lines: readonly string[]): object {
  const [first, ...others] = lines;
  if (first === undefined) return {};
  return others.length === 0 ? { message: first } : { message: lines.map((line) => line.trim()).join('; '), messages: lines };
}

/** @param known Values that are hidden from the start. */
export function createSecrets(known: readonly string[] = []): Secrets {
  const hidden = new Set(known);
  let redactor = createRedactor(hidden);
  return {
    hide: (values) => {
      for (const value of values) hidden.add(value);
      redactor = createRedactor(hidden);
    },
    redact: (text) => redactor(text),
  };
}
