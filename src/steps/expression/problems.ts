import { EvaluationError, ParseError, type ASTNode, type TypeCheckResult } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import { ExpressionFault, functions } from './functions.js';
import { comprehensions, nodesIn } from './nodes.js';

/** What is wrong with the text of an expression. */
export interface ExpressionProblem {
  readonly message: string;
  /** The offset of the character in question, from 0. */
  readonly at?: number | undefined;
  /** The unknown name, with the names that may have been meant. */
  readonly unknown?: { readonly kind: 'field' | 'function'; readonly name: string; readonly known: readonly string[] };
}

/** Names of functions: of those that are called on their own, and of methods. */
export interface Callable {
  readonly functions: readonly string[];
  readonly methods: readonly string[];
}

/** Explains why an expression cannot be read, in the checker's words. */
export function invalid(
  source: string,
  error: TypeCheckResult['error'],
  columns: readonly Column[],
  callable: Callable,
): ExpressionProblem {
  // The parser passes on a stack overflow, which its types do not include.
  if (error === undefined || error instanceof RangeError) return { message: 'cannot be read; it is too deep' };
  const message = error.summary;
  const at = error.range?.start;
  if (error instanceof ParseError) return { message: slip(source, at ?? 0, columns) ?? message, at };
  const field = /^Unknown variable: (\S+)/.exec(message)?.[1];
  if (field !== undefined) {
    const ours = Object.keys(functions).map((name) => `${name}()`);
    return {
      message,
      at,
      unknown: { kind: 'field', name: field, known: [...columns.map(({ name }) => name), 'null', 'true', 'false', ...ours] },
    };
  }
  const [, receiver, name] = /^found no matching overload for '(?:([\w.<>, ]+)\.)?(\w+)\(/.exec(message) ?? [];
  const known = receiver === undefined ? callable.functions : callable.methods;
  return name === undefined || known.includes(name) ? { message, at } : { message, at, unknown: { kind: 'function', name, known } };
}

/** Says what to write for the most frequent slips: operators of SQL, and a field by its name in the service. Of other words the parser names a letter. */
function slip(source: string, at: number, columns: readonly Column[]): string | undefined {
  const spaced = columns.find(({ original }) => {
    const start = source.toLowerCase().indexOf(original.toLowerCase());
    return start >= 0 && start < at && at < start + original.length;
  });
  if (spaced) return `the field '${spaced.original}' is called ${spaced.name} here`;
  const word = /^(?:=|[a-z_]\w*)/i.exec(source.slice(at))?.[0];
  const right = word === undefined ? undefined : { '=': '==', and: '&&', or: '||' }[word.toLowerCase()];
  return word && (right === undefined ? `unexpected '${word}'` : `'${word}' is written ${right} here`);
}

/** Limit for an expression that iterates over lists: its run time grows with the square of its length. */
const maxNodesWithComprehension = 1_000;

/**
 * Refuses what takes a time without bound. A nested comprehension runs through its list once per element of the outer one, and the list it makes can
 * be longer than its input. A bound value can also be longer than what it was made from.
 */
export function unbounded(nodes: readonly ASTNode[]): ExpressionProblem | undefined {
  if (nodes.some(({ op, args }) => (op === 'call' || op === 'rcall') && args[0] === 'matches'))
    return { message: 'matches() is refused, because a regular expression can take forever; use contains, startsWith or endsWith' };
  const iterating = nodes.filter(({ op, args }) => op === 'rcall' && comprehensions.includes(args[0]));
  if (nodes.length > maxNodesWithComprehension && iterating.length > 0)
    return { message: `an expression with a comprehension has at most ${maxNodesWithComprehension} parts` };
  if (isNested(iterating))
    return { message: `a comprehension (${comprehensions.join(', ')}) is refused within another, because it can take forever` };
  const binding = nodes.filter(({ op, args }) => op === 'rcall' && args[0] === 'bind');
  return isNested(binding) ? { message: 'cel.bind is refused within another, because it can take forever' } : undefined;
}

/** Whether one of the nodes contains another. */
function isNested(nodes: readonly ASTNode[]): boolean {
  const all = new Set<unknown>(nodes);
  return nodes.some(({ args }) => [...nodesIn(args)].some((below) => all.has(below)));
}

/** Type errors that affect every row: no value of such types, not even `null`, avoids them. */
const certain = new Set([
  'no_such_overload',
  'no_matching_overload',
  'invalid_condition_type',
  'invalid_logical_operand',
  'cannot_index_type',
  'invalid_comprehension_range',
]);

/** Exceptions that still depend on the values: `[1] == [1.0]` and `1.0 in {1: 'a'}` are true, and `[1] + ['a']` is a list. */
const depends = /\bnull\b| (?:[!=]=|\+) (?:list|map)| in map/;

/** Refuses what fails for every row by its types, in the checker's words. An expression whose alternatives have different types can succeed. */
export function failingByType({ error }: TypeCheckResult): ExpressionProblem | undefined {
  if (!error || !certain.has(error.code) || depends.test(error.summary)) return undefined;
  const decimal = /\bdouble \S+ int$|\bint \S+ double$/.test(error.summary) ? '; a decimal is written 2.0, not 2' : '';
  const text = /\bstring\b/.test(error.summary) ? '; a field is text until it is cast, or read with num(), flag(), epoch() or date()' : '';
  return { message: `${error.summary}, for every row${decimal}${text}`, at: error.range?.start };
}

/**
 * Refuses a part without a field that fails, and so fails for every row, such as `1 / 0` or `date('2024-01-01')`.
 *
 * @param evaluate Evaluates a constant expression. @throws Whatever evaluation throws.
 */
export function failingAlways(
  source: string,
  nodes: readonly ASTNode[],
  evaluate: (constant: string) => unknown,
): ExpressionProblem | undefined {
  // The innermost one comes last.
  for (const node of nodes.toReversed().filter(isKnown)) {
    try {
      evaluate(node === nodes[0] ? source : source.slice(node.start, node.end));
    } catch (error) {
      // A part that cannot be parsed on its own, such as one that begins inside a bracket, is checked with its surroundings.
      if (error instanceof EvaluationError) return { message: `${error.summary}, for every row`, at: node.start };
      if (error instanceof ExpressionFault) return { message: `${error.message}, for every row`, at: node.start };
    }
  }
  return undefined;
}

/** Whether a part can be evaluated now: it contains no name, and no clock, which is unknown until a run. */
function isKnown(node: ASTNode): boolean {
  if (node.op === 'value' || node.op === 'list' || node.op === 'map') return false;
  return [...nodesIn(node)].every(({ op, args }) => op !== 'id' && !(op === 'call' && clocks.has(args[0])));
}

const clocks: ReadonlySet<string> = new Set(['now', 'run_date', 'days_before']);
