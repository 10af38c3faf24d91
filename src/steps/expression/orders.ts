import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../collections/index.js';
import { isNode } from './nodes.js';
import { beside, readers } from './readers.js';
import { isWord, textsOf, type Aliases } from './texts.js';

/**
 * What is said of texts that declare to be numbers, instants or days, and that an expression compares by size with a text: letter by letter
 * `9` is greater than `18`, seconds since 1970 are less than any year, and an empty text is less than all.
 */
export function orderDoubts(nodes: readonly ASTNode[], columns: readonly Column[], aliases: Aliases): readonly string[] {
  const measured = columns.filter(({ type, cast }) => !cast && type !== 'text' && type !== 'flag');
  const names = new Set(measured.map(({ name }) => name));
  const doubts = nodes.flatMap(({ op, args }) => {
    if (op !== '<' && op !== '<=' && op !== '>' && op !== '>=') return [];
    const [left, right] = args;
    const [first, second] = [textsOf(left, names, aliases), textsOf(right, names, aliases)];
    if (!(first.length > 0 && second.length > 0) && !isWord(left, aliases) && !isWord(right, aliases)) return [];
    const compared = measured.filter(({ name }) => first.includes(name) || second.includes(name));
    return compared.map((column) => {
      const remedy = comparison(op, left, right, column) ?? `${readers[column.type]}(${column.name})`;
      return `${column.name} is text here and is compared letter by letter (to which '9' is more than '18'); use ${remedy}, or cast before`;
    });
  });
  return [...new Set(doubts)];
}

/** The comparison of values, where it is one of the bare field with a text. */
function comparison(op: string, left: unknown, right: unknown, column: Column): string | undefined {
  const read = `${readers[column.type]}(${column.name})`;
  const side = (node: unknown) => {
    if (!isNode(node)) return undefined;
    if (node.op === 'id') return node.args === column.name ? read : undefined;
    return node.op === 'value' && typeof node.args === 'string' ? beside(column.type, node.args) : undefined;
  };
  const [first, second] = [side(left), side(right)];
  return first === undefined || second === undefined ? undefined : `${first} ${op} ${second}`;
}
