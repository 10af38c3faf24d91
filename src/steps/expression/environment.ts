import { Environment, type ASTNode } from '@marcbachmann/cel-js';
import { parserOf, type Column, type DeclaredType } from '../../core/index.js';
import { comparing } from '../../vector/index.js';
import { ExpressionFault, functions, type Start } from './functions.js';

export const instant = 'google.protobuf.Timestamp';
const duration = 'google.protobuf.Duration';

const celTypes: Readonly<Record<DeclaredType, string>> = {
  text: 'string',
  flag: 'bool',
  integer: 'int',
  decimal: 'double',
  timestamp: instant,
  date: instant,
};

/** Words reserved by CEL, including type names. A field with such a name can be renamed first. */
const reserved = new Set(
  'as break const continue else false for function if import in let loop namespace null package prototype return true var void while __proto__'.split(
    ' ',
  ),
);

/** Comparisons that CEL refuses by the types of their operands, but evaluates when the types are dynamic. */
const comparisons = [
  ...[...new Set(Object.values(celTypes))].flatMap((type) => [`${type} == null`, `${type} in list<null>`]),
  ...['int == double', 'int == uint', 'double == uint', 'int in list<double>', 'double in list<int>'],
];

/** Limits of an expression, so that its run time depends only on its length. */
const limits = { maxListElements: 100, maxMapEntries: 100, maxAstNodes: 5_000, maxDepth: 250 };

/** Returns the environment for evaluation: any field may be `null` in any row, so all types are dynamic. */
export function runtimeOver(columns: readonly Column[], start: Start): Environment {
  const env = new Environment({ unlistedVariablesAreDyn: false, limits });
  registerNulls(env);
  env.registerFunction(`${guard}(string, dyn): dyn`, (conversion: string, operand: unknown) => {
    if (typeof operand === 'string' && spelled[conversion]?.(operand) === false)
      throw new ExpressionFault(`${conversion}() cannot read the text`);
    return operand;
  });
  return registered(env, columns, start);
}

/** Returns the environment for type checks, which has the types of everything that is not `null`: it infers types and finds what fails for every row. */
export function typingOver(columns: readonly Column[]): Environment {
  const env = new Environment({ unlistedVariablesAreDyn: false, homogeneousAggregateLiterals: false, limits });
  for (const comparison of comparisons) env.registerOperator(`${comparison}: bool`, () => false);
  return registered(env, columns);
}

function registered(env: Environment, columns: readonly Column[], start?: Start): Environment {
  // CEL defines the remainder for whole numbers only, but num() returns a decimal.
  env.registerOperator('double % double: double', (left: number, right: number) => left % right);
  for (const { name, type, cast } of columns) {
    if (reserved.has(name) || env.hasVariable(name)) continue;
    env.registerVariable(name, start ? 'dyn' : cast ? celTypes[type] : 'string');
  }
  for (const [name, { takes, least = takes.length, returns, call }] of Object.entries(functions)) {
    const handler = (operand?: unknown, ...more: readonly unknown[]) => call(operand, start ?? unknownStart, ...more);
    for (let count = least; count <= takes.length; count += 1) {
      const [firsts = [''], ...others] = takes.slice(0, count).map((types): readonly string[] => (start ? ['dyn'] : types));
      // Only the first argument may have several types.
      for (const first of firsts) env.registerFunction(`${name}(${[first, ...others].join()}): ${start ? 'dyn' : returns}`, handler);
    }
  }
  return env;
}

/** The clock of an expression that is only checked. @throws {Error} Always: evaluating it is a bug. */
export function unknownStart(): Date {
  throw new Error('an expression is evaluated outside a run');
}

const number = String.raw`(?:\d+(?:\.\d*)?|\.\d+)`;
const durationText = new RegExp(`^[+-]?(?:${number}(?:ns|us|µs|ms|s|m|h))+$`);
const instantText = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * The texts accepted by CEL's own conversions (https://github.com/google/cel-spec/blob/master/doc/langdef.md). The library accepts more: it reads an
 * empty text and `0b0` as 0, and the 30th of February as a day in March.
 */
const spelled: Readonly<Record<string, (text: string) => boolean>> = {
  int: (text) => /^[+-]?\d+$/.test(text),
  uint: (text) => /^\d+$/.test(text),
  double: (text) => /^[+-]?(?:inf|infinity|nan)$/i.test(text) || (text !== '' && parserOf('decimal')(text) !== undefined),
  bool: (text) => /^(?:1|t|true|TRUE|True|0|f|false|FALSE|False)$/.test(text),
  timestamp: (text) => {
    const day = instantText.exec(text)?.[1];
    const date = new Date(`${day}T00:00:00Z`);
    return day !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
  },
  duration: (text) => durationText.test(text),
};

/** The function that `makeExact` wraps around the operands of conversions. */
const guard = 'exact_text';

/** Makes the conversions in a tree refuse texts that CEL does not accept. The library does not allow replacing them. */
export function makeExact(env: Environment, tree: unknown): void {
  for (const { op, args } of [...nodesIn(tree)]) {
    if (op !== 'call' || args[1].length !== 1 || !Object.hasOwn(spelled, args[0])) continue;
    const guarded = env.parse(`${guard}('${args[0]}', null)`).ast;
    const operand = args[1][0];
    if (guarded.op !== 'call' || !isNode(operand)) continue;
    guarded.args[1][1] = operand;
    args[1][0] = guarded;
  }
}

/** Types that have an order, with the arithmetic they support. */
const operators: Readonly<Record<string, string>> = {
  int: '+-*/%',
  uint: '+-*/%',
  double: '+-*/%',
  string: '+',
  [instant]: '+-',
  [duration]: '+-',
  bool: '',
  null: '+-*/%',
};

/** Makes ordering comparisons, arithmetic and negation return `null` where an operand is `null`, which is neither more nor less than any value. */
function registerNulls(env: Environment): void {
  const nothing = () => null;
  for (const [type, signs] of Object.entries(operators)) {
    for (const sign of ['<', '<=', '>', '>=', ...signs]) {
      const result = signs.includes(sign) ? 'dyn' : 'bool';
      env.registerOperator(`null ${sign} ${type}: ${result}`, nothing);
      if (type !== 'null') env.registerOperator(`${type} ${sign} null: ${result}`, nothing);
    }
  }
  env.registerOperator('bool == null: bool', (flag, other) => flag === other);
  env.registerOperator('!null: bool', nothing);
  env.registerOperator('-null: dyn', nothing);
}

/**
 * Allows conditions to be `null`, and makes `&&` and `||` return `null` where the other operand does not decide: `null && true` is `null`, `null &&
 * false` is false. A failing operand still matters unless the other one decides. Texts are compared by code points.
 */
export function makeThreeValued(tree: unknown): void {
  for (const node of nodesIn(tree)) {
    if (!open.has(node.op) || !isAdjustable(node)) continue;
    const [op, { check }] = [node.op, node.meta];
    // The library would type a comparison as a flag, and evaluate `!null` as true.
    node.setMeta('check', (checker, checked, context) => {
      check(checker, checked, context);
      const { handle } = checked;
      // It would order texts by their units in UTF-16.
      if (handle && /^[<>]/.test(op))
        checked.handle = (one, other, ...more) => {
          if (typeof one !== 'string' || typeof other !== 'string') return handle(one, other, ...more);
          const order = compareTexts(one, other);
          return order === 0 ? op.endsWith('=') : order < 0 === op.startsWith('<');
        };
      return checker.dynType;
    });
    if (node.op === '&&' || node.op === '||') node.setMeta('evaluate', connective(node.op === '||'));
  }
}

const open: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '&&', '||', '!_']);
const compareTexts = comparing('text');

/** What the library's types leave out about its nodes, checker and evaluator. */
interface Adjustable {
  readonly meta: { readonly check: Check };
  setMeta(key: 'check', check: Check): unknown;
  setMeta(key: 'evaluate', evaluate: Evaluate): unknown;
}
type Handle = (one: unknown, other: unknown, ...more: unknown[]) => unknown;
type Check = (checker: { readonly dynType: unknown }, node: { handle?: Handle }, context: unknown) => unknown;
type Evaluate = (evaluator: Evaluator, node: { readonly args: readonly unknown[] }, context: unknown) => unknown;
interface Evaluator {
  run(node: unknown, context: unknown): unknown;
  tryEval(node: unknown, context: unknown): unknown;
  createError(code: string, message: string, node: unknown): Error;
}

function isAdjustable(node: object): node is Adjustable {
  return 'setMeta' in node && typeof node.setMeta === 'function';
}

/** @param decisive The value with which one operand decides the result. */
function connective(decisive: boolean): Evaluate {
  return (evaluator, { args: [left, right] }, context) => {
    const first = evaluator.tryEval(left, context);
    if (first === decisive) return decisive;
    const second = first instanceof Error ? evaluator.tryEval(right, context) : evaluator.run(right, context);
    if (second === decisive) return decisive;
    for (const value of [first, second]) {
      if (value instanceof Error) throw value;
      if (value !== null && typeof value !== 'boolean')
        throw evaluator.createError('invalid_logical_operand', 'Logical operator requires bool operands', undefined);
    }
    return first === null || second === null ? null : !decisive;
  };
}

/** Yields every node of a syntax tree, without recursion, however deep it is. */
export function* nodesIn(tree: unknown): Generator<ASTNode> {
  const left = [tree];
  while (left.length > 0) {
    const next = left.pop();
    if (Array.isArray(next)) for (const item of next.toReversed()) left.push(item);
    if (!isNode(next)) continue;
    yield next;
    left.push(next.args);
  }
}

export function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

/** Macros that evaluate an expression for every element of a list. */
export const comprehensions: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map'];
