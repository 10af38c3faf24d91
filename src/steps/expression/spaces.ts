import type { ASTNode } from '@marcbachmann/cel-js';
import { printable, type Column } from '../../core/index.js';
import { isNode, nodesIn } from './nodes.js';
import { listOf, textsOf, type Aliases } from './texts.js';

/** Warns when a field is compared with a text that has white space around it, such as `lead_status == 'sold '`. */
export function spaceDoubts(nodes: readonly ASTNode[], columns: readonly Column[], aliases: Aliases): readonly string[] {
  const texts = new Set(columns.filter(({ type }) => type === 'text').map(({ name }) => name));
  return [...new Set(nodes.flatMap((node) => doubtIn(node, texts, aliases) ?? []))];
}

const comparisons: ReadonlySet<unknown> = new Set(['==', '!=', 'in']);

function doubtIn({ op, args }: ASTNode, texts: ReadonlySet<string>, aliases: Aliases): string | undefined {
  if (!comparisons.has(op)) return undefined;
  const sides = listOf(args);
  // The warnings about results of functions are more specific.
  if ([...nodesIn(args)].some((node) => node.op === 'call' && node.args[0] === 'trim')) return undefined;
  const [field] = sides.flatMap((side) => textsOf(side, texts, aliases));
  const padded = sides.flatMap(literalsIn).find((text) => text.trim() !== '' && text.trim() !== text);
  if (field === undefined || padded === undefined) return undefined;
  const bare = padded.trim();
  return `'${printable(padded)}' has white space around it, so it is not equal to '${bare}'; compare ${field} with '${bare}', or trim(${field}) with it to find both`;
}

function literalsIn(node: unknown): readonly string[] {
  if (!isNode(node)) return [];
  if (node.op === 'list') return node.args.flatMap(literalsIn);
  return node.op === 'value' && typeof node.args === 'string' ? [node.args] : [];
}
