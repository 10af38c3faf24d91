import type { ASTNode } from '@marcbachmann/cel-js';
import { nodesIn } from './nodes.js';

/** Limits of an expression, so that its run time depends only on its length. */
export const limits = { maxListElements: 100, maxMapEntries: 100, maxAstNodes: 5_000, maxDepth: 250 };

/** Messages by the parser's name of a limit. */
const exceeded: Readonly<Record<string, () => string>> = {
  maxListElements: () => `a list holds at most ${limits.maxListElements} values; split a longer one: field in [...] || field in [...]`,
  maxMapEntries: () => `a map holds at most ${limits.maxMapEntries} entries`,
  maxAstNodes: () => `an expression has at most ${limits.maxAstNodes.toLocaleString('en-US')} parts (names, values, operators)`,
  maxDepth: () => `an expression is at most ${limits.maxDepth} levels deep`,
};

/** Explains the parser's refusal of an expression, if it is about a limit. */
export function limitIn(message: string): string | undefined {
  // For operators before a value the parser has no limit but the stack.
  if (message === 'Maximum call stack size exceeded') return exceeded.maxDepth?.();
  return exceeded[/^Exceeded (\w+) /.exec(message)?.[1] ?? '']?.();
}

/** Limit for an expression that iterates over lists: its run time grows with the square of its length. */
const maxNodesWithComprehension = 1_000;

const comprehensions = ['all', 'exists', 'exists_one', 'filter', 'map'];

/**
 * Explains why the macros of an expression are refused, if they are. A nested comprehension runs through its list once per element of the outer one,
 * and the list it makes can be longer than its input. A bound value can also be longer than what it was made from.
 */
export function macroProblem(tree: unknown): string | undefined {
  const nodes = [...nodesIn(tree)];
  if (nodes.length > maxNodesWithComprehension && nodes.some(isComprehension))
    return `an expression with a comprehension has at most ${maxNodesWithComprehension.toLocaleString('en-US')} parts`;
  if (hasWithin(tree, isComprehension))
    return `a comprehension (${comprehensions.join(', ')}) is refused within another, because it can take forever`;
  if (hasWithin(tree, isBind)) return 'cel.bind is refused within another, because it can take forever';
  return undefined;
}

/** Whether a node of some kind contains another of that kind. */
function hasWithin(tree: unknown, isKind: (node: ASTNode) => boolean): boolean {
  for (const node of nodesIn(tree)) {
    if (!isKind(node)) continue;
    for (const below of nodesIn(node.args)) if (isKind(below)) return true;
  }
  return false;
}

function isComprehension({ op, args }: ASTNode): boolean {
  return op === 'rcall' && comprehensions.includes(args[0]);
}

function isBind({ op, args }: ASTNode): boolean {
  return op === 'rcall' && args[0] === 'bind';
}
