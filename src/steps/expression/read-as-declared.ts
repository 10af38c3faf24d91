import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import type { Proposals } from './foreign.js';
import { functions } from './functions.js';
import { isNode, nodesIn } from './nodes.js';
import { readers } from './readers.js';
import { aliasesIn } from './texts.js';

const instant = 'google.protobuf.Timestamp';

/**
 * Rewrites an expression so that text fields declared as instants or days are read as such, where they are compared with an instant or passed to a
 * function that takes one: `timestamp >= days_before(7)` becomes `epoch(timestamp) >= days_before(7)`. As text they would fail there for every row.
 *
 * @param tree The syntax tree of the expression.
 */
export function readAsDeclared(source: string, tree: ASTNode, { columns, typeOf }: Proposals): string {
  const nodes = [...nodesIn(tree)];
  const aliases = aliasesIn(nodes);
  const readerOf = (node: unknown) => {
    if (!isNode(node) || node.op !== 'id' || aliases.has(node.args)) return undefined;
    return readers[columns.find((column) => column.name === node.args && isTextOfInstant(column))?.type ?? 'text'];
  };
  const found = nodes.flatMap((node) =>
    besideInstants(node, (other) => typeOf(source.slice(other.start, other.end)) === instant).flatMap((operand) => {
      const reader = readerOf(operand);
      return reader === 'epoch' || reader === 'date' ? [{ reader, start: operand.start, end: operand.end }] : [];
    }),
  );
  return found
    .toSorted((one, other) => other.start - one.start)
    .reduce((text, { reader, start, end }) => `${text.slice(0, start)}${reader}(${text.slice(start, end)})${text.slice(end)}`, source);
}

function isTextOfInstant({ type, cast }: Column): boolean {
  return !cast && (type === 'timestamp' || type === 'date');
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
