import { nearest } from '../core/index.js';
import type { LogFormat } from './console.js';

/** The words that a command line can consist of. */
export interface Grammar {
  /** The usage of each command, like `run [files..]`, by its name. */
  readonly commands: Readonly<Record<string, string>>;
  /** Names of options. */
  readonly options: readonly string[];
  /** Options that are flags: they take no value. */
  readonly flags: readonly string[];
  /** Options that may be given several times. */
  readonly repeated: readonly string[];
}

/**
 * Describes what is wrong with a command line. The parser repeats what was typed, and that may be a key typed by mistake; the result names only commands and
 * options.
 *
 * @param message The parser's message, in English.
 * @param words The command line.
 */
export function usageProblem(message: string, words: readonly string[], { commands, options }: Grammar): string {
  const choices = [...message.matchAll(/Argument: ([\w-]+), Given: [^]*?, Choices: (.+)/g)];
  if (choices.length > 0) return choices.map(([, name, known]) => `${name} must be one of ${known}`).join('; ');
  const given = words.flatMap((word) => /^(--?[a-z][\w.-]*)/i.exec(word)?.[1] ?? []);
  const known = options.map((name) => (name.length === 1 ? `-${name}` : `--${name}`));
  const unknown = given.find((option) => !known.includes(option));
  if (unknown !== undefined) return `unknown option ${unknown}${orNearest([unknown], known) ?? ''}`;
  if (!/^(?:Unknown |Not enough non-option)/.test(message)) return message;
  const names = Object.keys(commands);
  const command = names.find((name) => words.includes(name));
  if (command !== undefined) return `the arguments do not fit; usage: leadstream ${commands[command]}`;
  return `unknown command${orNearest(words, names) ?? `; there are ${names.join(', ')}`}`;
}

/** Returns the question whether a known word was meant by one of the words typed. */
function orNearest(words: readonly string[], known: readonly string[]): string | undefined {
  const [near] = words.flatMap((word) => nearest(word, known) ?? []);
  return near === undefined ? undefined : `, did you mean ${near}?`;
}

/** Describes what the parser lets pass: words after a `--`, and options given twice, without a value, or with one that is not of their kind. */
export function valueProblem(
  values: Readonly<Record<string, unknown>>,
  words: readonly string[],
  { options, flags, repeated }: Grammar,
): string | undefined {
  if ([values['_']].flat().length > 1) return 'nothing that follows -- is read';
  for (const name of options) {
    const value = values[name];
    const isBare = words.some((word, at) => word === `--${name}=` || (word === `--${name}` && /^(?:--|$)/.test(words[at + 1] ?? '')));
    if (Array.isArray(value) && !repeated.includes(name)) return `--${name} is given twice`;
    if (flags.includes(name) && words.some((word) => word.startsWith(`--${name}=`))) return `--${name} takes no value`;
    if (!flags.includes(name) && isBare) return `--${name} needs a value`;
    if (Number.isNaN(value)) return `--${name} takes a number`;
  }
  return undefined;
}

/** Returns the log format that a command line requests, whatever else is wrong with it. */
export function logFormatIn(words: readonly string[]): LogFormat {
  return /^--log-format[=\n]json$/m.test(words.join('\n')) ? 'json' : 'text';
}
