import type { ASTNode } from '@marcbachmann/cel-js';
import { expectations, parserOf, type Column, type Warning } from '../../core/index.js';
import { readers } from './functions.js';
import { isNode, nodesIn } from './nodes.js';

/**
 * Warns where the text of a flag, a number or an instant is compared or read as another kind, and where constants are compared. All of it is valid
 * and finds too few rows: a flag arrives as `yes`, `Yes` or `1`, by characters `9` is greater than `18`, and no day is written `2023-01-01`.
 */
export function textWarnings(nodes: readonly ASTNode[], columns: readonly Column[]): readonly Warning[] {
  const typed = new Map(columns.filter(({ type, cast }) => !cast && type !== 'text').map((column) => [column.name, column]));
  const columnsIn = (texts: readonly ASTNode[]) => texts.flatMap(({ op, args }) => (op === 'id' ? (typed.get(args) ?? []) : []));
  const found = nodes.flatMap((node): readonly (Warning | undefined)[] => {
    const { op, args } = node;
    const [first, ...others]: readonly unknown[] = [args].flat();
    if (op === 'call') return columnsIn(textsIn(args[1])).map((column) => misread(column, args[0]));
    if (op === 'rcall')
      return searches.has(args[0]) ? columnsIn(textsIn(args[1])).map((column) => compared(column, args[0], textsIn(args[2]))) : [];
    if (!comparisons.has(op)) return [];
    if ([...nodesIn(args)].every((part) => part.op === 'value' || part.op === 'list')) return [constants];
    const [left, right] = [textsIn(first), textsIn(others)];
    return [
      ...columnsIn(left).map((column) => compared(column, op, right)),
      ...columnsIn(right).map((column) => compared(column, op, left)),
    ];
  });
  return [...new Map(found.flatMap((warning) => (warning ? [[warning.message, warning]] : []))).values()];
}

const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);
const searches: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains']);
/** Functions whose result is still the text of their field. */
const changing: ReadonlySet<unknown> = new Set(['lower', 'upper', 'trim']);
/** Functions that read one kind of text only. */
const strict: ReadonlySet<string> = new Set(['flag', 'epoch', 'date']);

const constants: Warning = {
  code: 'W_SPEC_CONSTANT',
  message: "constants are compared, so the result is the same for every row; write a field's name without quotes",
};

/** Returns the names and the texts, none of them blank, that are the value of a part of an expression or an element of a list. */
function textsIn(part: unknown): readonly ASTNode[] {
  if (Array.isArray(part)) return part.flatMap(textsIn);
  if (!isNode(part)) return [];
  const { op, args } = part;
  if (op === 'id' || (op === 'value' && typeof args === 'string' && args.trim() !== '')) return [part];
  const [first, ...others]: readonly unknown[] = [args].flat();
  if (op === 'call') return changing.has(first) ? textsIn(others) : [];
  if (op === 'rcall') return searches.has(args[0]) ? [] : textsIn(args[1]);
  return op === '?:' ? textsIn(others) : op === '+' || op === 'list' ? textsIn(args) : [];
}

function misread({ name, type }: Column, reader: string): Warning | undefined {
  if (!strict.has(reader) || readers[type] === reader) return undefined;
  return {
    code: 'W_SPEC_TEXT',
    message: `${name} is ${expectations[type]}, which ${reader}() does not read; use ${readers[type]}(${name})`,
  };
}

/** @param texts What the text of a column is compared with. */
function compared({ name, type }: Column, op: string, texts: readonly ASTNode[]): Warning | undefined {
  if (texts.length === 0) return undefined;
  const remedy = `use ${readers[type]}(${name}), or cast first`;
  if (type === 'flag')
    return {
      code: 'W_SPEC_FLAG',
      message: `${name} is a flag and arrives as yes, Yes, 1 and other words, of which its text finds only some; ${remedy}`,
    };
  if (op.startsWith('<') || op.startsWith('>'))
    return {
      code: 'W_SPEC_TEXT',
      message: `${name} is text here and is compared character by character ('9' is greater than '18'); ${remedy}`,
    };
  const fits = searches.has(op)
    ? (text: string) => type !== 'timestamp' && /^[-+]?\d*\.?\d*$/.test(text)
    : (text: string) => parserOf(type)(text) !== undefined;
  const literals = texts.flatMap((text) => (text.op === 'value' && typeof text.args === 'string' ? [text.args] : []));
  const wrong = literals.find((text) => !fits(text));
  if (wrong === undefined) return undefined;
  return { code: 'W_SPEC_TEXT', message: `${name} arrives as ${expectations[type]}, so its text never is or has '${wrong}'; ${remedy}` };
}
