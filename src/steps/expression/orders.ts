import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import { withInstants, type Advice } from './instants.js';
import { isNode } from './nodes.js';
import { beside, readers } from './readers.js';
import { isWord, textsOf, type Aliases } from './texts.js';

/**
 * Warns about text columns declared as numbers, instants or days that an expression orders against a text. Character by character, `9` is greater
 * than `18`, seconds since 1970 are less than any year, and an empty text is less than everything.
 */
export function orderDoubts(nodes: readonly ASTNode[], columns: readonly Column[], aliases: Aliases): readonly string[] {
  const measured = columns.filter(({ type, cast }) => !cast && type !== 'text' && type !== 'flag');
  const names = new Set(measured.map(({ name }) => name));
  const barePlain = (node: unknown) =>
    isNode(node) && node.op === 'id' ? columns.find(({ name, type }) => name === node.args && type === 'text') : undefined;
  const doubts = nodes.flatMap(({ op, args }) => {
    if (op !== '<' && op !== '<=' && op !== '>' && op !== '>=') return [];
    const [left, right] = args;
    const [first, second] = [textsOf(left, names, aliases), textsOf(right, names, aliases)];
    const plain = barePlain(left) ?? barePlain(right);
    if (!(first.length > 0 && second.length > 0) && plain === undefined && !isWord(left, aliases) && !isWord(right, aliases)) return [];
    const compared = measured.filter(({ name }) => first.includes(name) || second.includes(name));
    const kinds = new Set(compared.map(({ type }) => (readers[type] === 'num' ? 'number' : 'instant')));
    if (kinds.size > 1)
      return `${compared.map(({ name }) => name).join(' and ')} are text here and are compared character by character; one is a number and the other an instant, which have no order`;
    return compared.map((column) => {
      const both = plain === undefined ? undefined : withPlain(op, left, right, column);
      const advice = both ?? adviceOn(op, left, right, column) ?? { remedy: `${readers[column.type]}(${column.name})` };
      const doubt = `${column.name} is text here and is compared character by character ('9' is greater than '18')`;
      return 'reason' in advice ? `${doubt}, and ${advice.reason}` : `${doubt}${advice.note ?? ''}; use ${advice.remedy}, or cast first`;
    });
  });
  return [...new Set(doubts)];
}

/** Proposes to read two bare fields as the type that one of them declares. */
function withPlain(op: string, left: unknown, right: unknown, { type }: Column): Advice | undefined {
  if (!isNode(left) || !isNode(right) || left.op !== 'id' || right.op !== 'id') return undefined;
  return { remedy: `${readers[type]}(${left.args}) ${op} ${readers[type]}(${right.args})` };
}

/** Proposes how to compare the bare field with a text, if possible. */
function adviceOn(op: string, left: unknown, right: unknown, column: Column): Advice | undefined {
  if (!isNode(left) || !isNode(right)) return undefined;
  const first = left.op === 'id' && left.args === column.name;
  const [field, other] = first ? [left, right] : [right, left];
  if (field.op !== 'id' || field.args !== column.name || other.op !== 'value' || typeof other.args !== 'string') return undefined;
  const { type } = column;
  if (type === 'timestamp' || type === 'date') return withInstants({ op, column, first, literals: [other.args], isList: false });
  const value = beside(type, other.args);
  const read = `${readers[type]}(${column.name})`;
  if (value === undefined) return { reason: `${other.args} is not a number that ${read} can be compared with` };
  return { remedy: first ? `${read} ${op} ${value}` : `${value} ${op} ${read}` };
}
