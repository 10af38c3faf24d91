import { amountOf, catalogue, failureOf, limitReached, printable } from '../core/index.js';
import type { Console } from './console.js';

/** What a thrown value tells about itself. */
interface Description {
  readonly code: string;
  readonly message: string;
  /** The message by lines. */
  readonly lines: readonly string[];
  readonly help: string;
  readonly exit: number;
  /** Where refused outputs are that were kept for inspection. */
  readonly kept: readonly string[];
}

/**
 * Says why a command failed, in one line (one per problem of a pipeline file, or per gate), and gives the exit code.
 *
 * @param pipeline The one of several that failed.
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

/** Problems of a pipeline file have their places in front, where editors look for them; a last line says what they come to. */
function toldOf(thrown: unknown, { code, lines, help, kept }: Pick<Description, 'code' | 'lines' | 'help' | 'kept'>): readonly string[] {
  if (!isSpecFailure(thrown)) return sentences(code, lines, help, kept);
  return [...lines, problemsLine([code], lines.length, 1)];
}

/**
 * What problems of pipeline files come to, in one line.
 *
 * @param codes Those of the problems.
 */
export function problemsLine(codes: readonly string[], problems: number, files: number): string {
  const [code = 'E_SPEC_INVALID', ...others] = new Set(codes);
  const known = Object.entries(catalogue).find(([name]) => name === code)?.[1];
  const help = others.length === 0 && known !== undefined ? ` ${known.help}` : '';
  return `leadstream: ${[code, ...others].join(', ')}: ${amountOf(problems, 'problem')} in ${amountOf(files, 'file')}.${help}`;
}

/** What a failure tells to people and machines. */
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

/** One line, or when there are several messages, one for each of them. */
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
