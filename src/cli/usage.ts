import { nearest } from '../core/index.js';
import type { LogFormat } from './console.js';

/** The words that a command line can consist of. */
export interface Grammar {
  /** The usage of each command, like `run [file]`, by its name. */
  readonly commands: Readonly<Record<string, string>>;
  /** Names of options. */
  readonly options: readonly string[];
  /** Options that are flags: the word after one is not its value. */
  readonly flags: readonly string[];
  /** Options that may be given several times. */
  readonly repeated: readonly string[];
  /** Options that take a number. */
  readonly numbers: readonly string[];
}

/**
 * Describes what is wrong with a command line, in our own words. The parser repeats what was typed, and that may be a key typed by mistake. The result names
 * only commands and options.
 *
 * @param message The parser's message, in English.
 * @param words The command line.
 */
export function usageProblem(message: string, words: readonly string[], grammar: Grammar): string {
  if (message.startsWith('Invalid values:')) return wrongChoices(message);
  const names = Object.keys(grammar.commands);
  const [command, ...others] = bareWords(words, grammar);
  const unknown = optionsIn(words).filter((name) => !grammar.options.includes(name));
  if (command !== undefined && !names.includes(command)) return unknownWord('command', command, names);
  if (unknown.length > 0) return unknown.map((name) => unknownOption(name, grammar.options)).join('; ');
  if (command === undefined) return `name a command: ${names.join(', ')}`;
  const takes = grammar.commands[command] ?? command;
  if (message.startsWith('Unknown ')) return others.length > 0 ? tooMany(takes) : 'unexpected argument';
  if (message.startsWith('Not enough non-option')) return `an argument is missing: ${takes}`;
  const [, lacking] = /^Not enough arguments following: (.+)$/.exec(message) ?? [];
  if (lacking === undefined) return message;
  return namesStream(lacking, words) ? noStream(lacking) : `--${lacking} needs a value`;
}

/** Describes what the parser lets pass: words that are not numbers, options given twice or without a value, and words after a `--`. */
export function valueProblem(
  values: Readonly<Record<string, unknown>>,
  words: readonly string[],
  { commands, options, repeated, numbers, flags }: Grammar,
): string | undefined {
  const [command, ...others] = [values._].flat();
  if (others.length > 0) return tooMany(commands[String(command)] ?? '');
  const bare = (name: string) => words.some((word, index) => word === `--${name}` && /^(?:--|$)/.test(words[index + 1] ?? ''));
  for (const name of options) {
    const value = values[name];
    if (Array.isArray(value) && !repeated.includes(name)) return `--${name} is given twice`;
    const [flag] = flags.includes(name) ? words.filter((word) => word.startsWith(`--${name}=`) && !/=(?:true|false)$/.test(word)) : [];
    if (flag !== undefined) return `--${name} takes no value`;
    if (!flags.includes(name) && (words.includes(`--${name}=`) || bare(name)))
      return `--${name} needs ${numbers.includes(name) ? 'a number' : 'a value'}`;
    if (!flags.includes(name) && namesStream(name, words)) return noStream(name);
    if (Number.isNaN(value)) return `--${name} takes a number`;
  }
  return undefined;
}

/** Whether an option has the value that means stdin or stdout in other programs. */
function namesStream(name: string, words: readonly string[]): boolean {
  return words.some((word, index) => word === `--${name}=-` || (word === `--${name}` && words[index + 1] === '-'));
}

function noStream(name: string): string {
  return `--${name} takes no '-', which has no meaning here`;
}

/** Returns the log format that a command line requests, whatever else is wrong with it. */
export function logFormatIn(words: readonly string[]): LogFormat {
  return /^--log-format[=\n]json$/m.test(words.join('\n')) ? 'json' : 'text';
}

/**
 * Rewrites a command line for the parser: `help run` becomes `run --help`, another name of a command becomes that command, and a `--` is dropped unless a later
 * word looks like an option.
 */
export function asParsed(words: readonly string[]): readonly string[] {
  const [first, ...others] = words;
  if (first === 'help') return [...asParsed(others), '--help'];
  if (first !== undefined && Object.hasOwn(otherNames, first)) return asParsed([otherNames[first] ?? first, ...others]);
  const end = words.indexOf('--');
  return end < 0 || words.slice(end).some((word) => /^-./.test(word) && word !== '--') ? words : words.toSpliced(end, 1);
}

/** Commands by their other names. */
const otherNames: Readonly<Record<string, string>> = { lint: 'validate' };

/** Returns the words that are neither options nor their values. */
export function bareWords(words: readonly string[], { options, flags }: Pick<Grammar, 'options' | 'flags'>): readonly string[] {
  return words.filter((word, index) => {
    const [, before] = /^--([a-z][a-z-]*)$/.exec(words[index - 1] ?? '') ?? [];
    return !word.startsWith('-') && !(before !== undefined && options.includes(before) && !flags.includes(before));
  });
}

/** Returns the names of options, long ones and single letters, without their values. */
function optionsIn(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => /^--([a-z][a-z._-]*)(?=$|=)/i.exec(word)?.[1] ?? /^-([a-z])$/i.exec(word)?.[1] ?? []);
}

function unknownOption(name: string, known: readonly string[]): string {
  const dashed = (option: string) => (option.length === 1 ? `-${option}` : `--${option}`);
  const [near] = [nearest(name, known), known.find((option) => /^[.-]/.test(name.slice(option.length)) && name.startsWith(option))].filter(
    (option) => option !== undefined,
  );
  return `unknown option ${dashed(name)}${near === undefined ? '' : `, did you mean ${dashed(near)}?`}`;
}

function unknownWord(kind: string, word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === undefined ? `unknown ${kind}; there are ${known.join(', ')}` : `unknown ${kind}, did you mean ${near}?`;
}

function tooMany(takes: string): string {
  return `too many arguments: ${takes}`;
}

function wrongChoices(message: string): string {
  const problems = message.split('\n  Argument: ').flatMap((part) => {
    const [, name, choices] = /^([\w-]+), Given: [^]*, Choices: (.+)$/.exec(part) ?? [];
    return name === undefined ? [] : [`${name} must be one of ${choices}`];
  });
  return problems.join('; ');
}
