import type { Column, Row } from '../../core/index.js';
import { unknownStart } from './environments.js';
import { functions } from './functions.js';
import { isNode } from './nodes.js';

/**
 * Returns a faster evaluation for an expression that only calls one of our functions on one field, as in `zip_city(zipcode)`: for text, the function
 * is called without the interpreter. No function that takes text uses the start of the run.
 *
 * @param evaluate Interprets the expression.
 */
export function directCall(ast: unknown, columns: readonly Column[], evaluate: (row: Row) => unknown): (row: Row) => unknown {
  const direct = callOf(ast);
  if (!direct || !columns.some(({ name }) => name === direct.field)) return evaluate;
  const { field, call } = direct;
  return (row) => {
    const value = row[field];
    return typeof value === 'string' ? call(value, unknownStart) : evaluate(row);
  };
}

function callOf(ast: unknown) {
  if (!isNode(ast) || ast.op !== 'call') return undefined;
  const [name, operands] = listOf(ast.args);
  const [operand, ...more] = listOf(operands);
  const call = typeof name === 'string' && Object.hasOwn(functions, name) ? functions[name]?.call : undefined;
  if (!call || more.length > 0 || !isNode(operand) || operand.op !== 'id' || typeof operand.args !== 'string') return undefined;
  return { field: operand.args, call };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
