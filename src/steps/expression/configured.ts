import { type Column, StepError } from '../../core/index.js';
import type { ConfigPath } from '../../flow/index.js';
import type { ProgramPlan, ProgramRuntime } from '../step.js';
import { expressionsOver, type Expression } from './expression.js';
import type { ExpressionProblem } from './problems.js';
import { goneAt, unknownName } from '../fields.js';

/**
 * Checks one expression of a file and reports what is wrong with it, or probably not intended.
 *
 * @param made The fields that the same step adds.
 */
export function planExpression(
  source: string,
  input: readonly Column[],
  plan: ProgramPlan,
  path: ConfigPath,
  made: readonly string[] = [],
): Expression | undefined {
  const result = checked(source, input);
  if ('evaluate' in result) {
    for (const warning of result.warnings) plan.warn?.(path, warning);
    return result;
  }
  const { message, at, unknown } = result;
  plan.problem(path, unknown ? unknownIn(unknown, plan, made) : `expression: ${message}`, false, at);
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

function unknownIn({ kind, name, known }: Required<ExpressionProblem>['unknown'], plan: ProgramPlan, made: readonly string[]): string {
  if (kind === 'field' && made.includes(name))
    return `field '${name}' is added by this step; an expression sees the row before the step, so add '${name}' in an earlier derive`;
  return (kind === 'field' ? goneAt(name, plan) : undefined) ?? unknownName(kind, name, known, plan);
}

/** Compiles an expression that passed planning. Loads what it needs as soon as the event loop is idle, while the first page is on its way. */
export function openExpression(source: string, { input = [], at, firstStart }: ProgramRuntime): Expression {
  const result = expressionsOver(input, firstStart && (() => firstStart)).compile(source);
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
