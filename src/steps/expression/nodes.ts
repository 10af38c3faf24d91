import type { ASTNode } from '@marcbachmann/cel-js';

/** Yields every node of a syntax tree, without recursion, however deep it is. */
export function* nodesIn(tree: unknown): Generator<ASTNode> {
  const open = [tree];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) for (const item of next.toReversed()) open.push(item);
    if (!isNode(next)) continue;
    yield next;
    open.push(next.args);
  }
}

/** Macros that evaluate an expression for every element of a list. */
export const comprehensions: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map'];

export function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
