import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import { functions, readers } from './functions.js';
import { comprehensions, isNode, nodesIn } from './nodes.js';

const instant = 'google.protobuf.Timestamp';

/**
 * Rewrites an expression so that text fields declared as instants or days are read as such, where they are compared with an instant or passed to a
 * function that takes one: `timestamp >= days_before(7)` becomes `epoch(timestamp) >= days_before(7)`. As text they would fail there for every row.
 *
 * @param tree The syntax tree of the expression.
 * @param typeOf Returns the CEL type of a part of it, if it has one.
 */
export function readAsDeclared(
  source: string,
  tree: ASTNode,
  columns: readonly Column[],
  typeOf: (part: string) => string | undefined,
): string {
  const nodes = [...nodesIn(tree)];
  const bound = new Set(nodes.flatMap(namesBoundBy));
  const readerOf = (node: ASTNode) => {
    const column = columns.find(({ name, cast }) => node.op === 'id' && name === node.args && !cast && !bound.has(name));
    return column?.type === 'timestamp' || column?.type === 'date' ? readers[column.type] : undefined;
  };
  const found = nodes.flatMap((node) =>
    besideInstants(node, (other) => typeOf(source.slice(other.start, other.end)) === instant).flatMap((operand) => {
      const reader = readerOf(operand);
      return reader === undefined ? [] : [{ reader, start: operand.start, end: operand.end }];
    }),
  );
  return found
    .toSorted((one, other) => other.start - one.start)
    .reduce((text, { reader, start, end }) => `${text.slice(0, start)}${reader}(${text.slice(start, end)})${text.slice(end)}`, source);
}

/** Returns the name that a macro defines for a part of its own. */
function namesBoundBy({ op, args }: ASTNode): readonly string[] {
  if (op !== 'rcall' || !(comprehensions.includes(args[0]) || args[0] === 'bind')) return [];
  const [name] = args[2];
  return name?.op === 'id' ? [name.args] : [];
}

const operators: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '==', '!=', '-']);

/** Returns the operands of a node that must be instants. */
function besideInstants({ op, args }: ASTNode, isInstant: (node: ASTNode) => boolean): readonly ASTNode[] {
  if (op === 'call') return functions[args[0]]?.takes.every((type) => type === instant) ? args[1].filter(isNode) : [];
  if (!operators.has(op)) return [];
  const [left, right]: readonly unknown[] = [args].flat();
  if (!isNode(left) || !isNode(right)) return [];
  return [...(isInstant(right) ? [left] : []), ...(isInstant(left) ? [right] : [])];
}
