import { amountOf, catalogue, failureOf, limitReached, printable } from '../core/index.js';
import type { Console } from './console.js';

/** What is reported of a thrown value. */
interface Description {
  readonly code: string;
  readonly message: string;
  /** The message, line by line. */
  readonly lines: readonly string[];
  readonly help: string;
  readonly exit: number;
  /** Paths of refused outputs that were kept for inspection. */
  readonly kept: readonly string[];
}

/**
 * Reports why a command failed, in one line (or one per problem of a pipeline file, or per gate), and returns the exit code.
 *
 * @param pipeline Name of the one that failed, if there are several.
 */
export function reportFailure(console: Console, thrown: unknown, pipeline?: string): number {
  const {
    code,
    lines: [first = '', ...others],
    help,
    exit,
    kept,
  } = descriptionOf(thrown);
  // The last line is the one that machines read.
  if (thrown instanceof Error && thrown.stack) console.log('debug', thrown.stack.split('\n'));
  const lines = [pipeline === undefined ? first : `${pipeline}: ${first}`, ...others];
  const facts = { ...(pipeline !== undefined && { pipeline }), code, help, exit, ...(kept.length > 0 && { kept }) };
  console.event('command.failed', facts, console.format === 'json' ? lines : toldOf(thrown, { code, lines, help, kept }));
  return exit;
}

/** Puts the place of each problem in a pipeline file first, where editors look for it. A last line sums them up. */
function toldOf(thrown: unknown, { code, lines, help, kept }: Pick<Description, 'code' | 'lines' | 'help' | 'kept'>): readonly string[] {
  if (!isSpecFailure(thrown)) return sentences(code, lines, help, kept);
  return [...lines, problemsLine([code], lines.length, 1)];
}

/**
 * Sums up the problems of pipeline files in one line.
 *
 * @param codes Codes of the problems.
 */
export function problemsLine(codes: readonly string[], problems: number, files: number): string {
  const [code = 'E_SPEC_INVALID', ...others] = new Set(codes);
  const known = Object.entries(catalogue).find(([name]) => name === code)?.[1];
  const help = others.length === 0 && known !== undefined ? ` ${known.help}` : '';
  return `leadstream: ${[code, ...others].join(', ')}: ${amountOf(problems, 'problem')} in ${amountOf(files, 'file')}.${help}`;
}

/** Exit code for a file that is wrong, or has a warning that counts as an error. */
export const refusedExit = catalogue.E_SPEC_INVALID.exit;

/** Describes a failure for people and machines. */
export function descriptionOf(failure: unknown): Description {
  const thrown = limitReached(failure) ?? failure;
  if (thrown instanceof Error && 'code' in thrown && 'exit' in thrown && 'help' in thrown && typeof thrown.exit === 'number') {
    const { message } = thrown;
    return {
      code: String(thrown.code),
      message,
      lines: message.split('\n'),
      help: String(thrown.help),
      exit: thrown.exit,
      kept: keptBy(thrown),
    };
  }
  const { code, help, exit, message: said } = failureOf(thrown);
  const message = printable(said);
  return { code, message, lines: [message], help, exit, kept: [] };
}

function keptBy(thrown: Error): readonly string[] {
  return 'kept' in thrown && Array.isArray(thrown.kept) ? thrown.kept.map(String) : [];
}

/** Returns one line or, for several messages, one line for each. */
function sentences(code: string, lines: readonly string[], help: string, kept: readonly string[]): readonly string[] {
  const [only = '', ...others] = lines;
  const where = kept.length === 0 ? '' : ` Kept for inspection: ${kept.join(', ')}.`;
  if (others.length === 0) return [`leadstream: ${code}: ${sentence(only)} ${help}${where}`];
  return [`leadstream: ${code}:`, ...lines.map((each) => `  ${sentence(each)}`), `  ${help}${where}`];
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

function isSpecFailure(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'SpecError';
}
