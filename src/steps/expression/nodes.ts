import type { ASTNode } from '@marcbachmann/cel-js';

/** Every node of a syntax tree. */
export function* nodesIn(tree: unknown): Generator<ASTNode> {
  if (Array.isArray(tree)) for (const item of tree) yield* nodesIn(item);
  if (!isNode(tree)) return;
  yield tree;
  yield* nodesIn(tree.args);
}

export function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
