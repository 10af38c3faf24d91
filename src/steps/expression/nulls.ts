import type { Environment } from '@marcbachmann/cel-js';
import { nodesIn } from './nodes.js';

const instant = 'google.protobuf.Timestamp';
const duration = 'google.protobuf.Duration';

/** What has an order, and what arithmetic there is with it. */
const operators: Readonly<Record<string, string>> = {
  int: '+-*/%',
  uint: '+-*/%',
  double: '+-*/%',
  string: '+',
  [instant]: '+-',
  [duration]: '+-',
  bool: '',
};

/** Makes comparisons by size and arithmetic give `null` where a side is `null`, and so the negations: no value is as large as no other. */
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
 * Lets what is true or false be `null`, too, and makes `&&` and `||` give `null` where the sides that are not decide nothing: `null && true`
 * is `null`, `null && false` is false. A side that fails counts as before: it matters unless the other decides.
 *
 * @param tree Changed in place, before it is evaluated.
 */
export function makeThreeValued(tree: unknown): void {
  for (const node of nodesIn(tree)) {
    if (!open.has(node.op) || !isAdjustable(node)) continue;
    const { check } = node.meta;
    // The library would take a comparison for a flag, and find `!null` true.
    node.setMeta('check', (checker, checked, context) => {
      check(checker, checked, context);
      return checker.dynType;
    });
    if (node.op === '&&' || node.op === '||') node.setMeta('evaluate', connective(node.op === '||'));
  }
}

const open: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '&&', '||', '!_']);

/** What the library's types do not tell of its nodes and of what checks and evaluates them. */
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

/** @param decisive What one side must be to decide alone. */
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
