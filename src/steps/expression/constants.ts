import type { ASTNode } from '@marcbachmann/cel-js';
import { expectations, snakeCase, type Column, type DeclaredType } from '../../core/index.js';
import { unknownStart } from './environments.js';
import { readsExactly } from './exact.js';
import { ExpressionFault } from './fault.js';
import { functions } from './functions.js';
import { isNode, nodesIn } from './nodes.js';
import { isConstant, listOf, searches } from './texts.js';

const comparisons: ReadonlySet<unknown> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);

/** What is said of comparisons in which no field is: the same for all rows, and in SQL a name stands in quotes. */
export function constantDoubts(source: string, nodes: readonly ASTNode[], columns: readonly Column[]): readonly string[] {
  return nodes.filter(comparesConstants).map((node) => {
    const texts = [...nodesIn(node)].flatMap(({ op, args }) => (op === 'value' && typeof args === 'string' ? [args] : []));
    const named = columns.find(({ name, original }) => texts.some((text) => text === original || snakeCase(text) === name));
    const said = `${source.slice(node.start, node.end)} compares constants and is the same for every row`;
    if (texts.length === 0) return said;
    return `${said}; a field's name stands without quotes${named === undefined ? '' : `: ${named.name}`}`;
  });
}

/** The call of a function that reads a text with a text that it cannot read, which is an error of every row. */
export function unreadable(nodes: readonly ASTNode[]): { readonly message: string; readonly at: number } | undefined {
  for (const { op, args, start } of nodes) {
    if (op !== 'call') continue;
    const [name, [operand, ...more]] = args;
    if (more.length > 0 || operand?.op !== 'value' || typeof operand.args !== 'string') continue;
    if (readsExactly(name, operand.args) && reads(name, operand.args)) continue;
    const type = wanted[name];
    return { message: `${name}() cannot read this text${type === undefined ? '' : `, which must be ${expectations[type]}`}`, at: start };
  }
  return undefined;
}

/** What our readers and CEL's conversions want that are alike. */
const wanted: Readonly<Record<string, DeclaredType>> = {
  num: 'decimal',
  flag: 'flag',
  date: 'date',
  epoch: 'timestamp',
  int: 'integer',
  double: 'decimal',
};

function reads(name: string, text: string): boolean {
  if (!['num', 'flag', 'date', 'epoch'].includes(name)) return true;
  try {
    functions[name]?.call(text, unknownStart);
    return true;
  } catch (error) {
    if (error instanceof ExpressionFault) return false;
    throw error;
  }
}

function comparesConstants({ op, args }: ASTNode): boolean {
  const parts: readonly unknown[] = [args].flat();
  if (op === 'rcall' && searches.has(parts[0])) return isText(parts[1]) && listOf(parts[2]).every(isConstant);
  return comparisons.has(op) && parts.every(isConstant);
}

function isText(node: unknown): boolean {
  return isNode(node) && node.op === 'value' && typeof node.args === 'string';
}
