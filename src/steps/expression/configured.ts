import { type Column, StepError } from '../../core/index.js';
import { goneAt, unknownName } from '../fields.js';
import type { ConfigPath } from '../../flow/index.js';
import type { PlanContext, StepRuntime } from '../step.js';
import { expressionsOver, type Expression, type UnknownName } from './expression.js';

/**
 * Checks one expression of a file and reports what is wrong with it, or doubtful.
 *
 * @param made The fields that the same step makes.
 */
export function planExpression(
  source: string,
  input: readonly Column[],
  plan: PlanContext,
  path: ConfigPath,
  made: readonly string[] = [],
): Expression | undefined {
  const result = expressionsOver(input).compile(source);
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

/** Why a field is missing, where that can be told. */
function missingField({ kind, name }: UnknownName, plan: PlanContext, made: readonly string[]): string | undefined {
  if (kind !== 'field') return undefined;
  if (!made.includes(name)) return goneAt(name, plan);
  return `field '${name}' is made by this step; an expression sees the row before the step, so make '${name}' in a derive before this one`;
}

/** Compiles what planning has found right. */
export function openExpression(source: string, { input, at, firstStart }: Pick<StepRuntime, 'input' | 'at' | 'firstStart'>): Expression {
  const result = expressionsOver(input, () => firstStart).compile(source);
  if ('evaluate' in result) return result;
  throw new StepError('E_STEP_CONFIG', `${at}: ${result.message}`);
}
