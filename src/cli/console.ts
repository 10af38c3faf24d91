import { createRedactor, jsonOf, logEvents, printable, reasonOf, SinkError, type Column, type LogEvent, type Row } from '../core/index.js';
import type { stdout as stdoutSink } from '../index.js';

export type OutputStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export type LogFormat = 'text' | 'json';

/** Whatever else is wrong with the command line. */
export function logFormatIn(words: readonly string[]): LogFormat {
  return /^--log-format[=\n]json$/m.test(words.join('\n')) ? 'json' : 'text';
}

export const logLevels = ['error', 'warn', 'info', 'debug'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Values that must never be shown. Commands add those that they learn. */
export interface SecretSet {
  hide(values: readonly string[]): void;
  redact(text: string): string;
}

export function createSecrets(known: readonly string[] = []): SecretSet {
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

/** Prints everything but data, to stderr, without credentials and control characters. */
export interface CliConsole extends SecretSet {
  readonly format: LogFormat;
  readonly level: LogLevel;
  log(level: LogLevel, message: string | readonly string[]): void;
  /** Facts are for machines, words for people, who see nothing without words. */
  event(name: LogEvent, facts: object, words?: string | readonly string[]): void;
}

export function createConsole(format: LogFormat, most: LogLevel, { hide, redact }: SecretSet, stream: NodeJS.WritableStream): CliConsole {
  function say(event: LogEvent, level: LogLevel, lines: readonly string[], facts: object): void {
    if (logLevels.indexOf(level) > logLevels.indexOf(most)) return;
    const time = new Date().toISOString();
    if (format === 'json') stream.write(`${jsonOf({ time, level, event, ...inOneLine(lines), ...facts }, { redact })}\n`);
    else if (lines.length > 0) stream.write(lines.map((line) => `${printable(redact(line))}\n`).join(''));
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

function inOneLine(lines: readonly string[]): object {
  const [first, ...others] = lines;
  if (first === undefined) return {};
  return others.length === 0 ? { message: first } : { message: lines.map((line) => line.trim()).join('; '), messages: lines };
}

/** Writes text to stdout. A reader that closes it early, like `head`, is not an error. */
export async function printTo(stdout: NodeJS.WritableStream, text: string): Promise<void> {
  if (text === '') return;
  const failure = await new Promise<Error | null | undefined>((done) => void stdout.write(text, done));
  if (!failure || ('code' in failure && failure.code === 'EPIPE')) return;
  throw new SinkError('E_SINK_WRITE', `stdout: ${reasonOf(failure)}`);
}

export async function printRows(
  stdout: NodeJS.WritableStream,
  how: Parameters<typeof stdoutSink>[0],
  columns: readonly Column[],
  rows: readonly Row[],
): Promise<void> {
  const { ClosedPipeError, stdout: sink } = await import('../index.js');
  const out = await sink(how, { stdout });
  try {
    await out.begin(columns);
    await out.write({ number: 1, rows, lease: { release: () => {} } });
    await out.prepare();
  } catch (failure) {
    if (!(failure instanceof ClosedPipeError)) throw failure;
  }
}
