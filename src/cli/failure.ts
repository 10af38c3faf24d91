import { amountOf, catalogue, failureOf, limitReached, printable } from '../core/index.js';
import type { CliConsole } from './console.js';

/** Exit code for a wrong file, or a warning that counts as an error. */
export const refusedExit = catalogue.E_SPEC_INVALID.exit;

/** Describes a failure, also one of another copy of leadstream. The message has a line per problem of a file, or per gate. */
export function descriptionOf(failure: unknown) {
  const thrown = limitReached(failure) ?? failure;
  if (thrown instanceof Error && 'code' in thrown && 'exit' in thrown && 'help' in thrown && typeof thrown.exit === 'number') {
    return { code: String(thrown.code), message: thrown.message, help: String(thrown.help), exit: thrown.exit };
  }
  const { code, help, exit, message } = failureOf(thrown);
  return { code, message: printable(message), help, exit };
}

/** @param pipeline Name of the failed one, if there are several. @returns The exit code. */
export function reportFailure(console: CliConsole, thrown: unknown, pipeline?: string): number {
  const { code, message, help, exit } = descriptionOf(thrown);
  // Machines read the last line.
  if (thrown instanceof Error && thrown.stack) console.log('debug', thrown.stack.split('\n'));
  const lines = `${pipeline === undefined ? '' : `${pipeline}: `}${message}`.split('\n');
  const facts = { ...(pipeline !== undefined && { pipeline }), code, help, exit };
  const isOfFile = thrown instanceof Error && thrown.name === 'SpecError';
  // The place of each problem in a pipeline file comes first, where editors look for it.
  const words = isOfFile ? [...lines, problemsLine([code], lines.length, 1)] : sentences(code, lines, help);
  console.event('command.failed', facts, console.format === 'json' ? lines : words);
  return exit;
}

export function problemsLine(codes: readonly string[], problems: number, files: number): string {
  const [code = 'E_SPEC_INVALID', ...others] = new Set(codes);
  const known = Object.entries(catalogue).find(([name]) => name === code)?.[1];
  const help = others.length === 0 && known !== undefined ? ` ${known.help}` : '';
  return `leadstream: ${[code, ...others].join(', ')}: ${amountOf(problems, 'problem')} in ${amountOf(files, 'file')}.${help}`;
}

function sentences(code: string, lines: readonly string[], help: string): readonly string[] {
  const all = lines.map((line) => (/[.?!]$/.test(line) ? line : `${line}.`));
  if (all.length === 1) return [`leadstream: ${code}: ${all[0]} ${help}`];
  return [`leadstream: ${code}:`, ...all.map((each) => `  ${each}`), `  ${help}`];
}
