import type { ASTNode } from '@marcbachmann/cel-js';
import { nodesIn } from './nodes.js';

/** What an expression may have, so that it takes a time that depends on its length only. */
export const limits = { maxListElements: 100, maxMapEntries: 100, maxAstNodes: 5_000, maxDepth: 250 };

/** What the parser calls a limit, and what is said of it. */
const exceeded: Readonly<Record<string, () => string>> = {
  maxListElements: () =>
    `a list holds at most ${limits.maxListElements} values; several side by side hold more: field in [...] || field in [...]`,
  maxMapEntries: () => `a map holds at most ${limits.maxMapEntries} entries`,
  maxAstNodes: () => `an expression has at most ${limits.maxAstNodes.toLocaleString('en-US')} parts (names, values, operators)`,
  maxDepth: () => `an expression is at most ${limits.maxDepth} levels deep`,
};

/** What the parser's refusal of an expression means, if it is about a limit. */
export function limitIn(message: string): string | undefined {
  // Operators before a value have no limit of the parser's but the stack.
  if (message === 'Maximum call stack size exceeded') return exceeded.maxDepth?.();
  return exceeded[/^Exceeded (\w+) /.exec(message)?.[1] ?? '']?.();
}

/** Of an expression that goes through lists: then its time is that of its length, squared. */
const maxNodesWithComprehension = 1_000;

const comprehensions = ['all', 'exists', 'exists_one', 'filter', 'map'];

/**
 * Why the macros of an expression are refused, if they are: a comprehension within another goes through its list as often as the other
 * has elements, and what one makes of a list can be longer than it; so can what is bound be longer than what it was made of.
 */
export function macroProblem(tree: unknown): string | undefined {
  const nodes = [...nodesIn(tree)];
  if (nodes.length > maxNodesWithComprehension && nodes.some(isComprehension))
    return `an expression with a comprehension has at most ${maxNodesWithComprehension.toLocaleString('en-US')} parts`;
  if (hasWithin(tree, isComprehension))
    return `a comprehension (${comprehensions.join(', ')}) is refused within another, since it can take for ever`;
  if (hasWithin(tree, isBind)) return 'cel.bind is refused within another, since it can take for ever';
  return undefined;
}

/** Whether a node of some kind has another one of that kind below it. */
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
