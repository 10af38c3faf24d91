import { type Column, StepError } from '../../core/index.js';
import { goneAt, unknownName } from '../fields.js';
import type { ConfigPath } from '../../flow/index.js';
import type { PlanContext, StepRuntime } from '../step.js';
import { expressionsOver, type Expression, type ExpressionProblem, type UnknownName } from './expression.js';

/**
 * Checks one expression of a file and reports what is wrong with it or doubtful.
 *
 * @param made The fields that the same step adds.
 */
export function planExpression(
  source: string,
  input: readonly Column[],
  plan: PlanContext,
  path: ConfigPath,
  made: readonly string[] = [],
): Expression | undefined {
  const result = checked(source, input);
  if ('evaluate' in result) {
    for (const doubt of result.doubts) plan.warn(path, doubt);
    return result;
  }
  plan.problem(
    path,
    result.unknown
      ? (missingField(result.unknown, plan, made) ??
          unknownName(result.unknown.kind, result.unknown.name, result.unknown.known, plan, result.unknown.listed))
      : ((result.field && goneAt(result.field, plan)) ?? `expression: ${result.message}`),
    false,
    result.at,
  );
  return undefined;
}

/** Results of recent checks: a run computes its columns several times, mostly the same ones. */
const found = new Map<string, Expression | ExpressionProblem>();
const mostFound = 100;

function checked(source: string, input: readonly Column[]): Expression | ExpressionProblem {
  const key = JSON.stringify([source, input]);
  const known = found.get(key);
  if (known) return known;
  const result = expressionsOver(input).compile(source);
  if (found.size >= mostFound) found.clear();
  found.set(key, result);
  return result;
}

/** Explains why a field is missing, if the reason is known. */
function missingField({ kind, name }: UnknownName, plan: PlanContext, made: readonly string[]): string | undefined {
  if (kind !== 'field') return undefined;
  if (!made.includes(name)) return goneAt(name, plan);
  return `field '${name}' is added by this step; an expression sees the row before the step, so add '${name}' in an earlier derive`;
}

/** Compiles an expression that passed planning. Loads what it needs as soon as the event loop is idle, while the first page is on its way. */
export function openExpression(source: string, { input, at, firstStart }: Pick<StepRuntime, 'input' | 'at' | 'firstStart'>): Expression {
  const result = expressionsOver(input, () => firstStart).compile(source);
  if (!('evaluate' in result)) throw new StepError('E_STEP_CONFIG', `${at}: ${result.message}`);
  setImmediate(prepare, result);
  return result;
}

function prepare(expression: Expression): void {
  try {
    expression.prepare();
  } catch {
    // The first row that needs it reports the problem.
  }
}
