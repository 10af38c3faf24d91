import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import type { Proposals } from './foreign.js';
import { functions } from './functions.js';
import { isNode, nodesIn } from './nodes.js';
import { readers } from './readers.js';
import { aliasesIn } from './texts.js';

const instant = 'google.protobuf.Timestamp';

/**
 * An expression in which fields that are text and declare to be instants or days are read as such, where they stand by themselves beside an
 * instant or as what a function takes: `timestamp >= days_before(7)` becomes `epoch(timestamp) >= days_before(7)`. As text they would be
 * right there for no row.
 *
 * @param tree What was read of the expression.
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

/** The parts of a node that have to be instants. */
function besideInstants({ op, args }: ASTNode, isInstant: (node: ASTNode) => boolean): readonly ASTNode[] {
  if (op === 'call') return functions[args[0]]?.takes.every((type) => type === instant) ? args[1].filter(isNode) : [];
  if (!operators.has(op)) return [];
  const [left, right]: readonly unknown[] = [args].flat();
  if (!isNode(left) || !isNode(right)) return [];
  return [...(isInstant(right) ? [left] : []), ...(isInstant(left) ? [right] : [])];
}
