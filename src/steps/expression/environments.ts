import { Environment } from '@marcbachmann/cel-js';
import type { Column, DeclaredType } from '../../core/index.js';
import { registerGuard } from './exact.js';
import { functions, type ExpressionFunction, type Start } from './functions.js';
import { registerNulls } from './nulls.js';

const celTypes: Readonly<Record<DeclaredType, string>> = {
  text: 'string',
  flag: 'bool',
  integer: 'int',
  decimal: 'double',
  timestamp: 'google.protobuf.Timestamp',
  date: 'google.protobuf.Timestamp',
};

/** Words reserved by CEL, including type names. A field with such a name can be renamed first. */
const reserved = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(' '),
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
  env.registerOperator('double % double: double', remainder);
  registerNulls(env);
  registerGuard(env);
  return environment(
    env,
    columns,
    () => 'dyn',
    ({ takes }) => ({ takes: takes.length === 0 ? [] : ['dyn'], returns: 'dyn' }),
    start,
  );
}

/**
 * Returns the environment for type checks, which has the types of everything that is not `null`. It infers result types and finds expressions that
 * fail for every row.
 */
export function typingOver(columns: readonly Column[]): Environment {
  const env = new Environment({ unlistedVariablesAreDyn: false, homogeneousAggregateLiterals: false, limits });
  for (const comparison of comparisons) env.registerOperator(`${comparison}: bool`, () => false);
  env.registerOperator('double % double: double', remainder);
  return environment(
    env,
    columns,
    ({ type, cast }) => (cast ? celTypes[type] : 'string'),
    (declared) => declared,
    unknownStart,
  );
}

/** CEL defines the remainder for whole numbers only, but `num()` returns a decimal. */
function remainder(left: number, right: number): number {
  return left % right;
}

function environment(
  env: Environment,
  columns: readonly Column[],
  typeOf: (column: Column) => string,
  signatureOf: (call: ExpressionFunction) => { readonly takes: readonly string[]; readonly returns: string },
  start: Start,
): Environment {
  for (const column of columns) {
    if (!reserved.has(column.name) && !env.hasVariable(column.name)) env.registerVariable(column.name, typeOf(column));
  }
  for (const [name, declared] of Object.entries(functions)) {
    const { takes, returns } = signatureOf(declared);
    for (const type of takes.length === 0 ? [''] : takes)
      env.registerFunction(`${name}(${type}): ${returns}`, (operand?: unknown) => declared.call(operand, start));
  }
  return env;
}

/** The clock of an expression that is only checked. @throws {Error} Always: evaluating it is a bug. */
export function unknownStart(): Date {
  throw new Error('an expression is evaluated outside a run');
}
