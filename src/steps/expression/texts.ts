import type { ASTNode } from '@marcbachmann/cel-js';
import { isNode, nodesIn } from './nodes.js';

/** What the names bound in an expression stand for: an element of a list, or the bound value itself. */
export type Aliases = ReadonlyMap<string, unknown>;

export function aliasesIn(nodes: readonly ASTNode[]): Aliases {
  return new Map(
    nodes.flatMap(({ op, args }): readonly (readonly [string, unknown])[] => {
      if (op !== 'rcall') return [];
      const [method, receiver, operands] = args;
      const [name, bound] = operands;
      if (name?.op !== 'id') return [];
      if (comprehensions.has(method)) return [[name.args, receiver]];
      return method === 'bind' ? [[name.args, bound]] : [];
    }),
  );
}

const comprehensions: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);
const ofText: ReadonlySet<unknown> = new Set(['lower', 'upper', 'trim']);

/** Methods that search for one text in another. */
export const searches: ReadonlySet<unknown> = new Set(['startsWith', 'endsWith', 'contains']);

/**
 * Returns the given fields whose text, at most trimmed or with its case changed, is the value of a part of an expression or of an element of a list.
 */
export function textsOf(node: unknown, fields: ReadonlySet<string>, aliases: Aliases): readonly string[] {
  if (!isNode(node)) return [];
  const { op, args } = node;
  if (op === 'id') {
    const alias = resolved(args, aliases);
    if (alias) return textsOf(alias.node, fields, alias.others);
    return fields.has(args) ? [args] : [];
  }
  const parts: readonly unknown[] = [args].flat();
  const from = (values: readonly unknown[]) => values.flatMap((value) => textsOf(value, fields, aliases));
  if (op === 'call') return ofText.has(parts[0]) ? from(listOf(parts[1])) : [];
  if (op === 'rcall') return searches.has(parts[0]) ? [] : from([parts[1]]);
  if (op === '?:') return from(parts.slice(1));
  return op === '+' || op === 'list' ? from(parts) : [];
}

/** Whether a part is a non-blank text, or a list that contains one. */
export function isWord(node: unknown, aliases: Aliases): boolean {
  if (!isNode(node)) return false;
  if (node.op === 'id') {
    const alias = resolved(node.args, aliases);
    return alias !== undefined && isWord(alias.node, alias.others);
  }
  if (node.op === 'list') return [...nodesIn(node.args)].some((item) => isWord(item, aliases));
  return node.op === 'value' && typeof node.args === 'string' && node.args.trim() !== '';
}

/** Whether a part uses no field and no call. */
export function isConstant(node: unknown): boolean {
  return isNode(node) && [...nodesIn(node)].every(({ op }) => op === 'value' || op === 'list' || op === '-_');
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Resolves a name. Its own definition cannot refer to it, so it is removed from the others. */
function resolved(name: string, aliases: Aliases): { readonly node: unknown; readonly others: Aliases } | undefined {
  if (!aliases.has(name)) return undefined;
  return { node: aliases.get(name), others: new Map([...aliases].filter(([other]) => other !== name)) };
}
