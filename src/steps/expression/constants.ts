import { EvaluationError, type ASTNode } from '@marcbachmann/cel-js';
import { expectations, hintAt, snakeCase, type Column, type DeclaredType } from '../../core/index.js';
import { unknownStart } from './environments.js';
import { readsExactly } from './exact.js';
import { ExpressionFault } from './fault.js';
import { functions } from './functions.js';
import { isNode, nodesIn } from './nodes.js';
import { isConstant, listOf, searches } from './texts.js';

const comparisons: ReadonlySet<unknown> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);

/** Describes comparisons with the same result for every row: those with null, and those without a field, such as a field name in quotes. */
export function constantDoubts(source: string, nodes: readonly ASTNode[], columns: readonly Column[]): readonly string[] {
  const ordered = nodes.filter(ordersByNull).map((node) => {
    const said = source.slice(node.start, node.end);
    return `${said} is null in every row, because nothing is greater or less than null; test for null with == null or != null`;
  });
  const compared = nodes
    .filter((node) => comparesConstants(node) && !ordersByNull(node))
    .map((node) => {
      const texts = [...nodesIn(node)].flatMap(({ op, args }) => (op === 'value' && typeof args === 'string' ? [args] : []));
      const named = columns.find(({ name, original }) => texts.some((text) => text === original || snakeCase(text) === name));
      const said = `${source.slice(node.start, node.end)} compares constants and is the same for every row`;
      if (texts.length === 0) return said;
      return `${said}; write a field's name without quotes${named === undefined ? '' : `: ${named.name}`}`;
    });
  return [...ordered, ...compared];
}

/** Finds a call of a function that parses a literal text it cannot read, which fails for every row. */
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

/** The types read by our functions and by the CEL conversions that accept similar texts. */
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
 * Finds a part without a field that fails, and so fails for every row, such as `1 / 0` or an invalid time zone.
 *
 * @param evaluate Evaluates a constant expression. @throws Whatever evaluation throws.
 */
export function failing(
  source: string,
  nodes: readonly ASTNode[],
  evaluate: (constant: string) => unknown,
): { readonly message: string; readonly at: number } | undefined {
  // The innermost one comes last.
  for (const node of nodes.toReversed()) {
    const said = node === nodes[0] ? source : source.slice(node.start, node.end);
    const failure = zoneFault(node, evaluate) ?? zeroFault(node) ?? (isKnown(node) ? failureOf(said, evaluate) : undefined);
    if (failure !== undefined) return { message: `${said} fails for every row: ${failure}`, at: node.start };
  }
  return undefined;
}

/** Whether a part can be evaluated now: it contains no name, and no clock, which is unknown until a run. */
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
    // A part that cannot be parsed on its own, such as one that begins inside a bracket, is checked with its surroundings.
    return error instanceof EvaluationError ? error.summary : undefined;
  }
}

function zeroFault({ op, args }: ASTNode): string | undefined {
  if (op !== '/' && op !== '%') return undefined;
  const [, divisor] = args;
  return divisor.op === 'value' && divisor.args === 0n ? 'division by zero' : undefined;
}

/** Describes what is wrong with the time zone passed to a method of instants. */
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
