import { type Column, StepError } from '../../core/index.js';
import { goneAt, unknownName } from '../fields.js';
import type { ConfigPath, PlanContext, StepRuntime } from '../step.js';
import { expressionsOver, type Expression, type UnknownName } from './expression.js';

/** Checks one expression of a file and reports what is wrong with it, or doubtful. */
export function planExpression(source: string, input: readonly Column[], plan: PlanContext, path: ConfigPath): Expression | undefined {
  const result = expressionsOver(input).compile(source);
  if ('evaluate' in result) {
    for (const doubt of result.doubts) plan.warn(path, doubt);
    return result;
  }
  plan.problem(
    path,
    result.unknown
      ? (goneField(result.unknown, plan) ??
          unknownName(result.unknown.kind, result.unknown.name, result.unknown.known, plan, result.unknown.listed))
      : `expression: ${result.message}`,
    false,
    result.at,
  );
  return undefined;
}

function goneField({ kind, name }: UnknownName, plan: PlanContext): string | undefined {
  return kind === 'field' ? goneAt(name, plan) : undefined;
}

/** Compiles what planning has found right. */
export function openExpression(source: string, { input, at, firstStart }: Pick<StepRuntime, 'input' | 'at' | 'firstStart'>): Expression {
  const result = expressionsOver(input, () => firstStart).compile(source);
  if ('evaluate' in result) return result;
  throw new StepError('E_STEP_CONFIG', `${at}: ${result.message}`);
}
