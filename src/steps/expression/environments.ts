import { Environment } from '@marcbachmann/cel-js';
import type { Column, DeclaredType } from '../../core/index.js';
import { registerGuard } from './exact.js';
import { functions, type ExpressionFunction, type Start } from './functions.js';
import { limits } from './limits.js';
import { registerNulls } from './nulls.js';

const celTypes: Readonly<Record<DeclaredType, string>> = {
  text: 'string',
  flag: 'bool',
  integer: 'int',
  decimal: 'double',
  timestamp: 'google.protobuf.Timestamp',
  date: 'google.protobuf.Timestamp',
};

/** Words that CEL keeps for itself, like its type names; a field with such a name can be renamed first. */
const reserved = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(' '),
);

/** Comparisons that CEL refuses by the types of their sides and carries out when these are open. */
const comparisons = [
  ...[...new Set(Object.values(celTypes))].flatMap((type) => [`${type} == null`, `${type} in list<null>`]),
  ...['int == double', 'int == uint', 'double == uint', 'int in list<double>', 'double in list<int>'],
];

/** What evaluates: any field may be `null` in any row, so all types are open. */
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

/** What knows the types of all that is not `null`. It serves to infer result types and to find what is right for no row. */
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

/** CEL has one of whole numbers only, but `num()` is a decimal. */
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

/** Of an expression that is only checked. @throws {Error} Always: evaluating it is a defect. */
export function unknownStart(): Date {
  throw new Error('an expression is evaluated outside a run');
}
