import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../collections/index.js';
import { isNode, nodesIn } from './nodes.js';

/**
 * The columns of flags whose text an expression compares with a word, or with the text of another flag: one flag comes as `yes`, `Yes`
 * and `1`, so that such a comparison finds some of the rows and passes over others without a word.
 */
export function comparedFlags(nodes: readonly ASTNode[], columns: readonly Column[]): readonly Column[] {
  const flags = new Set(columns.filter(({ type, cast }) => type === 'flag' && !cast).map(({ name }) => name));
  const compared = new Set(flags.size === 0 ? [] : nodes.flatMap((node) => comparedIn(node, flags)));
  return columns.filter(({ name }) => compared.has(name));
}

const comparisons: ReadonlySet<unknown> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);
const searches: ReadonlySet<unknown> = new Set(['startsWith', 'endsWith', 'contains']);
const ofText: ReadonlySet<unknown> = new Set(['lower', 'upper', 'trim']);

function comparedIn({ op, args }: ASTNode, flags: ReadonlySet<string>): readonly string[] {
  const parts: readonly unknown[] = [args].flat();
  if (op === 'rcall' && searches.has(parts[0])) return nodesOf(parts[2]).some(isWord) ? textsOf(parts[1], flags) : [];
  if (!comparisons.has(op)) return [];
  const [left, right] = [textsOf(parts[0], flags), textsOf(parts[1], flags)];
  const both = left.length > 0 && right.length > 0;
  return both || isWord(parts[0]) || isWord(parts[1]) ? [...left, ...right] : [];
}

/** The flags whose text, changed at most in its letters, is the value of a part of an expression. */
function textsOf(node: unknown, flags: ReadonlySet<string>): readonly string[] {
  if (!isNode(node)) return [];
  const { op, args } = node;
  if (op === 'id') return typeof args === 'string' && flags.has(args) ? [args] : [];
  const parts: readonly unknown[] = [args].flat();
  const from = (values: readonly unknown[]) => values.flatMap((value) => textsOf(value, flags));
  if (op === 'call') return ofText.has(parts[0]) ? from(nodesOf(parts[1])) : [];
  if (op === 'rcall') return searches.has(parts[0]) ? [] : from([parts[1]]);
  if (op === '?:') return from(parts.slice(1));
  return op === '+' ? from(parts) : [];
}

/** Whether a part is a text with a word in it, or a list that has one. */
function isWord(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.op === 'list') return [...nodesIn(node.args)].some(isWord);
  return node.op === 'value' && typeof node.args === 'string' && node.args.trim() !== '';
}

function nodesOf(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list : [];
}
