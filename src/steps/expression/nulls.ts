import type { Environment } from '@marcbachmann/cel-js';
import { nodesIn } from './nodes.js';

const instant = 'google.protobuf.Timestamp';
const duration = 'google.protobuf.Duration';

/** Types that have an order, with the arithmetic they support. */
const operators: Readonly<Record<string, string>> = {
  int: '+-*/%',
  uint: '+-*/%',
  double: '+-*/%',
  string: '+',
  [instant]: '+-',
  [duration]: '+-',
  bool: '',
};

/** Makes ordering comparisons, arithmetic and negation return `null` where an operand is `null`, which is neither more nor less than any value. */
export function registerNulls(env: Environment): void {
  const nothing = () => null;
  for (const order of ['<', '<=', '>', '>=']) {
    env.registerOperator(`null ${order} null: bool`, nothing);
    for (const type of Object.keys(operators)) {
      env.registerOperator(`null ${order} ${type}: bool`, nothing);
      env.registerOperator(`${type} ${order} null: bool`, nothing);
    }
  }
  for (const sign of '+-*/%') {
    env.registerOperator(`null ${sign} null: dyn`, nothing);
    for (const [type, signs] of Object.entries(operators)) {
      if (!signs.includes(sign)) continue;
      env.registerOperator(`null ${sign} ${type}: dyn`, nothing);
      env.registerOperator(`${type} ${sign} null: dyn`, nothing);
    }
  }
  env.registerOperator('bool == null: bool', (flag, other) => flag === other);
  env.registerOperator('!null: bool', nothing);
  env.registerOperator('-null: dyn', nothing);
}

/**
 * Allows conditions to be `null`, and makes `&&` and `||` return `null` where the other operand does not decide: `null && true` is `null`, `null &&
 * false` is false. A failing operand still matters unless the other one decides.
 */
export function makeThreeValued(tree: unknown): void {
  for (const node of nodesIn(tree)) {
    if (!open.has(node.op) || !isAdjustable(node)) continue;
    const { check } = node.meta;
    // The library would type a comparison as a flag, and evaluate `!null` as true.
    node.setMeta('check', (checker, checked, context) => {
      check(checker, checked, context);
      return checker.dynType;
    });
    if (node.op === '&&' || node.op === '||') node.setMeta('evaluate', connective(node.op === '||'));
  }
}

const open: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '&&', '||', '!_']);

/** What the library's types leave out about its nodes, checker and evaluator. */
interface Adjustable {
  readonly meta: { readonly check: Check };
  setMeta(key: 'check', check: Check): unknown;
  setMeta(key: 'evaluate', evaluate: Evaluate): unknown;
}
type Check = (checker: { readonly dynType: unknown }, node: unknown, context: unknown) => unknown;
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
