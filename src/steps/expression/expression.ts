import { EvaluationError, type ASTNode } from '@marcbachmann/cel-js';
import { exact, isInstant, StepError } from '../../core/index.js';
import type { Column, DeclaredType, Row, Value, Warning } from '../../core/index.js';
import type { ConfigPath } from '../../flow/index.js';
import { unknownField } from '../fields.js';
import type { PlanContext, StepRuntime } from '../step.js';
import { instant, makeExact, makeThreeValued, runtimeOver, typingOver, unknownStart } from './environment.js';
import { comprehensions, isNode, nodesIn } from './environment.js';
import { ExpressionFault, functions, readers, type Start } from './functions.js';
import { failingByType, invalid, isDay, nullNotes, textWarnings, unbounded, wrongConstant, type ExpressionProblem } from './problems.js';

/** A checked expression over the fields of a row. */
export interface Expression {
  readonly type: DeclaredType;
  /** Every name in it. Its result depends only on the fields of a row among them. */
  readonly names: readonly string[];
  /** Whether its result depends on when the run was first started. */
  readonly isTimed: boolean;
  /** Comparisons that are valid and probably find too few rows. */
  readonly warnings: readonly Warning[];
  /** What is as intended for many, but may surprise. */
  readonly notes: readonly string[];
  /** @throws {ExpressionFault} When the row's values do not fit; the message contains no value. */
  evaluate(row: Row): Value;
}

const typeByCel: Readonly<Record<string, DeclaredType>> = {
  string: 'text',
  dyn: 'text',
  null: 'text',
  bool: 'flag',
  int: 'integer',
  double: 'decimal',
  'google.protobuf.Timestamp': 'timestamp',
};

/** Codes of runtime failures whose messages contain only types. */
const safeCodes = new Set(['no_such_overload', 'no_matching_overload', 'invalid_condition_type']);

const timed: readonly unknown[] = ['now', 'run_date', 'days_before'];

/** Checks an expression (CEL) over given columns. @param start When the run was first started. By default it is only checked. */
export function compileExpression(
  written: string,
  columns: readonly Column[],
  start: Start = unknownStart,
): Expression | ExpressionProblem {
  const runtime = runtimeOver(columns, start);
  const check = runtime.check(written);
  if (!check.valid) return invalid(written, check.error);
  const typing = typingOver(columns);
  const source = readAsDeclared(written, runtime.parse(written).ast, columns, (part) => typing.check(part).type);
  const program = runtime.parse(source);
  const nodes = [...nodesIn(program.ast)];
  const inferred = typing.check(source);
  const problem = unbounded(nodes) ?? failingByType(inferred) ?? wrongConstant(nodes, columns);
  if (problem !== undefined) return problem;
  const type = typeByCel[(inferred.valid ? inferred.type : check.type) ?? 'dyn'];
  if (!type) return { message: `returns a ${check.type ?? 'value'}, which no column can hold` };

  const warnings = textWarnings(nodes, columns);
  const names = [...new Set(nodes.flatMap(({ op, args }) => (op === 'id' && typeof args === 'string' ? [args] : [])))];
  const used = columns.map(({ name }) => name).filter((name) => names.includes(name));
  const [root] = nodes;
  makeExact(runtime, program.ast);
  makeThreeValued(program.ast);
  const isTimed = nodes.some(({ op, args }) => op === 'call' && Array.isArray(args) && timed.includes(args[0]));
  const evaluate = directCall(root, columns, (row) => program(complete(row, used)));
  const notes = nullNotes(nodes, used);
  return { type: isDay(root) ? 'date' : type, names, isTimed, warnings, notes, evaluate: (row) => asValue(run(evaluate, row), type) };
}

/**
 * Returns a faster evaluation for an expression that only calls one of our functions on one field, as in `zip_city(zipcode)`: for text, the function
 * is called without the interpreter. No function that takes text uses the start of the run.
 */
function directCall(root: ASTNode | undefined, columns: readonly Column[], evaluate: (row: Row) => unknown): (row: Row) => unknown {
  if (root?.op !== 'call') return evaluate;
  const [name, [operand, ...more]] = root.args;
  const call = Object.hasOwn(functions, name) ? functions[name]?.call : undefined;
  if (!call || more.length > 0 || operand?.op !== 'id' || !columns.some((column) => column.name === operand.args)) return evaluate;
  return (row) => {
    const value = row[operand.args];
    return typeof value === 'string' ? call(value, unknownStart) : evaluate(row);
  };
}

function complete(row: Row, names: readonly string[]): Row {
  const missing = names.filter((name) => row[name] === undefined);
  return missing.length === 0 ? row : { ...row, ...Object.fromEntries(missing.map((name) => [name, null])) };
}

function run(program: (row: Row) => unknown, row: Row): unknown {
  try {
    return program(row);
  } catch (error) {
    if (error instanceof ExpressionFault) throw error;
    if (error instanceof EvaluationError) {
      throw new ExpressionFault(safeCodes.has(error.code) ? error.summary : error.code.replaceAll('_', ' '));
    }
    throw new ExpressionFault('the expression failed');
  }
}

/** Converts a result to a value of a column's type. For `text`, which also stands for an open type, any scalar becomes its text. */
function asValue(value: unknown, type: DeclaredType): Value {
  if (value === null || value === undefined) return null;
  if (type === 'text') {
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
    if (isInstant(value)) return value.toISOString();
    throw new ExpressionFault('the result is not text, a number, a flag or an instant');
  }
  const held = exact[type](value);
  if (held !== undefined) return held;
  throw new ExpressionFault('the result does not fit the type of its column');
}

/** Checks one expression of a file and reports what is wrong with it, or probably not intended. @param made The fields that the same step adds. */
export function planExpression(
  source: string,
  input: readonly Column[],
  plan: PlanContext,
  path: ConfigPath,
  made: readonly string[] = [],
): Expression | undefined {
  const result = checked(source, input);
  if ('evaluate' in result) {
    for (const warning of result.warnings) plan.warn?.(path, warning);
    for (const note of result.notes) plan.note?.(path, note);
    if (plan.isSince && result.isTimed)
      plan.problem(path, `with since, earlier rows are not read again when ${timed.join(', ')} have another result`);
    return result;
  }
  const { message, unknown } = result;
  if (unknown === undefined) plan.problem(path, `expression: ${message}`);
  else if (!made.includes(unknown)) plan.problem(path, unknownField(unknown, input, plan));
  else plan.problem(path, `field '${unknown}' is added by this step, whose expressions see the row before it; add it in an earlier derive`);
  return undefined;
}

/** Results of recent checks: a run computes its columns several times, mostly the same ones. */
const found = new Map<string, Expression | ExpressionProblem>();
const mostFound = 100;

function checked(source: string, input: readonly Column[]): Expression | ExpressionProblem {
  const key = JSON.stringify([source, input]);
  const known = found.get(key);
  if (known) return known;
  const result = compileExpression(source, input);
  if (found.size >= mostFound) found.clear();
  found.set(key, result);
  return result;
}

export function openExpression(source: string, { input = [], at, firstStart }: StepRuntime): Expression {
  const result = compileExpression(source, input, firstStart && (() => firstStart));
  if (!('evaluate' in result)) throw new StepError('E_STEP_CONFIG', `${at}: ${result.message}`);
  return result;
}

/**
 * Rewrites an expression so that text fields declared as instants or days are read as such, where they are compared with an instant or passed to a
 * function that takes one: `timestamp >= days_before(7)` becomes `epoch(timestamp) >= days_before(7)`. As text they would fail there for every row.
 */
function readAsDeclared(source: string, tree: ASTNode, columns: readonly Column[], typeOf: (part: string) => string | undefined): string {
  const nodes = [...nodesIn(tree)];
  const bound = new Set(nodes.flatMap(namesBoundBy));
  const readerOf = (node: ASTNode) => {
    const column = columns.find(({ name, cast }) => node.op === 'id' && name === node.args && !cast && !bound.has(name));
    return column?.type === 'timestamp' || column?.type === 'date' ? readers[column.type] : undefined;
  };
  const found = nodes.flatMap((node) =>
    besideInstants(node, (other) => typeOf(source.slice(other.start, other.end)) === instant).flatMap((operand) => {
      const reader = readerOf(operand);
      return reader === undefined ? [] : [{ reader, start: operand.start, end: operand.end }];
    }),
  );
  return found
    .toSorted((one, other) => other.start - one.start)
    .reduce((text, { reader, start, end }) => `${text.slice(0, start)}${reader}(${text.slice(start, end)})${text.slice(end)}`, source);
}

function namesBoundBy({ op, args }: ASTNode): readonly string[] {
  if (op !== 'rcall' || !(comprehensions.includes(args[0]) || args[0] === 'bind')) return [];
  const [name] = args[2];
  return name?.op === 'id' ? [name.args] : [];
}

const operators: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '==', '!=', '-']);

function besideInstants({ op, args }: ASTNode, isInstant: (node: ASTNode) => boolean): readonly ASTNode[] {
  if (op === 'call') return args[1].filter((_, index) => functions[args[0]]?.takes[index]?.every((type) => type === instant));
  if (!operators.has(op)) return [];
  const [left, right]: readonly unknown[] = [args].flat();
  if (!isNode(left) || !isNode(right)) return [];
  return [...(isInstant(right) ? [left] : []), ...(isInstant(left) ? [right] : [])];
}
