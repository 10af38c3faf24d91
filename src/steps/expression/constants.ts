import { EvaluationError, type ASTNode } from '@marcbachmann/cel-js';
import { expectations, hintAt, snakeCase, type Column, type DeclaredType } from '../../core/index.js';
import { unknownStart } from './environments.js';
import { readsExactly } from './exact.js';
import { ExpressionFault } from './fault.js';
import { functions } from './functions.js';
import { isNode, nodesIn } from './nodes.js';
import { isConstant, listOf, searches } from './texts.js';

const comparisons: ReadonlySet<unknown> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);

/** What is said of comparisons that are the same for all rows: those with null, and those in which no field is, as a name in quotes. */
export function constantDoubts(source: string, nodes: readonly ASTNode[], columns: readonly Column[]): readonly string[] {
  const ordered = nodes.filter(ordersByNull).map((node) => {
    const said = source.slice(node.start, node.end);
    return `${said} is null in every row, since nothing is more or less than null; == null and != null ask for it`;
  });
  const compared = nodes
    .filter((node) => comparesConstants(node) && !ordersByNull(node))
    .map((node) => {
      const texts = [...nodesIn(node)].flatMap(({ op, args }) => (op === 'value' && typeof args === 'string' ? [args] : []));
      const named = columns.find(({ name, original }) => texts.some((text) => text === original || snakeCase(text) === name));
      const said = `${source.slice(node.start, node.end)} compares constants and is the same for every row`;
      if (texts.length === 0) return said;
      return `${said}; a field's name stands without quotes${named === undefined ? '' : `: ${named.name}`}`;
    });
  return [...ordered, ...compared];
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

/**
 * A part without a field that fails, as it then does in every row, like `1 / 0` or a time zone that is none.
 *
 * @param evaluate Evaluates a text of which everything is known. @throws What evaluation throws.
 */
export function failing(
  source: string,
  nodes: readonly ASTNode[],
  evaluate: (constant: string) => unknown,
): { readonly message: string; readonly at: number } | undefined {
  // The innermost one is at the end.
  for (const node of nodes.toReversed()) {
    const said = node === nodes[0] ? source : source.slice(node.start, node.end);
    const failure = zoneFault(node, evaluate) ?? zeroFault(node) ?? (isKnown(node) ? failureOf(said, evaluate) : undefined);
    if (failure !== undefined) return { message: `${said} fails, whatever the row: ${failure}`, at: node.start };
  }
  return undefined;
}

/** Whether a part is worth evaluating: there is no name in it, and no clock, which stands still until a run. */
function isKnown(node: ASTNode): boolean {
  if (node.op === 'value' || node.op === 'list' || node.op === 'map') return false;
  return [...nodesIn(node)].every(({ op, args }) => op !== 'id' && !(op === 'call' && clocks.has(args[0])));
}

const clocks: ReadonlySet<string> = new Set(['now', 'run_date', 'days_before']);

function failureOf(constant: string, evaluate: (constant: string) => unknown): string | undefined {
  try {
    evaluate(constant);
    return undefined;
  } catch (error) {
    // A part that cannot be read by itself, like one that begins within a bracket, is judged with what is around it.
    return error instanceof EvaluationError ? error.summary : undefined;
  }
}

function zeroFault({ op, args }: ASTNode): string | undefined {
  if (op !== '/' && op !== '%') return undefined;
  const [, divisor] = args;
  return divisor.op === 'value' && divisor.args === 0n ? 'division by zero' : undefined;
}

/** What is wrong with the time zone that a method of instants is given. */
function zoneFault({ op, args }: ASTNode, evaluate: (constant: string) => unknown): string | undefined {
  if (op !== 'rcall' || !args[0].startsWith('get')) return undefined;
  const [method, , [zone]] = args;
  if (zone?.op !== 'value' || typeof zone.args !== 'string') return undefined;
  try {
    evaluate(`timestamp('2000-01-01T00:00:00Z').${method}(${JSON.stringify(zone.args)})`);
    return undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) return undefined;
    return `there is no time zone '${zone.args}'${hintAt(zone.args, Intl.supportedValuesOf('timeZone'))}`;
  }
}

function ordersByNull({ op, args }: ASTNode): boolean {
  if (op !== '<' && op !== '<=' && op !== '>' && op !== '>=') return false;
  return args.some((side) => side.op === 'value' && side.args === null);
}

function comparesConstants({ op, args }: ASTNode): boolean {
  const parts: readonly unknown[] = [args].flat();
  if (op === 'rcall' && searches.has(parts[0])) return isText(parts[1]) && listOf(parts[2]).every(isConstant);
  return comparisons.has(op) && parts.every(isConstant);
}

function isText(node: unknown): boolean {
  return isNode(node) && node.op === 'value' && typeof node.args === 'string';
}
