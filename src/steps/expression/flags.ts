import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import { isWord, listOf, searches, textsOf, type Aliases } from './texts.js';

/**
 * Warns about flags whose text an expression compares with a word, or with the text of another flag. A flag comes as `yes`, `Yes` or `1`, so such a
 * comparison silently misses some of the rows.
 */
export function flagDoubts(nodes: readonly ASTNode[], columns: readonly Column[], aliases: Aliases): readonly string[] {
  const all = new Set(columns.filter(({ type, cast }) => type === 'flag' && !cast).map(({ name }) => name));
  const compared = new Set(all.size === 0 ? [] : nodes.flatMap((node) => comparedIn(node, all, aliases)));
  const flags = columns.filter(({ name }) => compared.has(name));
  if (flags.length === 0) return [];
  const [are, come, texts] = flags.length > 1 ? ['are flags', 'arrive', 'their text'] : ['is a flag', 'arrives', 'its text'];
  const names = flags.map(({ name }) => name).join(' and ');
  const calls = flags.map(({ name }) => `flag(${name})`).join(' and ');
  return [
    `${names} ${are} and ${come} as yes, Yes, 1 and other words, so comparing ${texts} finds only some of them; use ${calls}, or cast first`,
  ];
}

const comparisons: ReadonlySet<unknown> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);

function comparedIn({ op, args }: ASTNode, flags: ReadonlySet<string>, aliases: Aliases): readonly string[] {
  const parts: readonly unknown[] = [args].flat();
  const word = (node: unknown) => isWord(node, aliases);
  if (op === 'rcall' && searches.has(parts[0])) return listOf(parts[2]).some(word) ? textsOf(parts[1], flags, aliases) : [];
  if (!comparisons.has(op)) return [];
  const [left, right] = [textsOf(parts[0], flags, aliases), textsOf(parts[1], flags, aliases)];
  const both = left.length > 0 && right.length > 0;
  return both || word(parts[0]) || word(parts[1]) ? [...left, ...right] : [];
}
