import type { LogFormat } from './console.js';

/**
 * What is wrong with a command line, in our words. The parser repeats what was typed, and what was typed by mistake can be a key: here
 * only names of commands and options are said.
 *
 * @param message The parser's, in English.
 * @param words The command line.
 */
export function usageProblem(message: string, words: readonly string[]): string {
  if (message.startsWith('Unknown ')) return unexpected(message, words);
  if (message.startsWith('Invalid values:')) return wrongChoices(message);
  const [, nearest] = /^Did you mean (.+)\?$/.exec(message) ?? [];
  return nearest === undefined ? message : `unknown command, did you mean ${nearest}?`;
}

/** The form of messages that a command line asks for, whatever else is wrong with it. */
export function logFormatIn(words: readonly string[]): LogFormat {
  return /^--log-format[=\n]json$/m.test(words.join('\n')) ? 'json' : 'text';
}

function unexpected(message: string, words: readonly string[]): string {
  const unknown = new Set(message.split(/[:,] /));
  const options = words.flatMap((word) => /^--([a-z][a-z-]*)(?=$|=)/.exec(word)?.[1] ?? []).filter((name) => unknown.has(name));
  return options.length === 0 ? 'unexpected argument' : `unknown option ${options.map((name) => `--${name}`).join(', ')}`;
}

function wrongChoices(message: string): string {
  const problems = message.split('\n  Argument: ').flatMap((part) => {
    const [, name, choices] = /^([\w-]+), Given: [^]*, Choices: (.+)$/.exec(part) ?? [];
    return name === undefined ? [] : [`${name} must be one of ${choices}`];
  });
  return problems.join('; ');
}
