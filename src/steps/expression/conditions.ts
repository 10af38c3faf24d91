import type { ASTNode } from '@marcbachmann/cel-js';
import type { Row } from '../../core/index.js';
import type { RowCondition, StepRuntime } from '../step.js';
import { runtimeOver } from './environments.js';
import { expressionsOver, type Expression } from './expression.js';
import { ExpressionFault } from './functions.js';

/** A part of a condition, as written in the file. */
interface Part {
  readonly text: string;
  readonly expression: Expression;
}

/**
 * Evaluates for a row each of the parts that `&&` joins at the top level of a condition, in order.
 *
 * @returns An empty list for a condition without parts.
 */
export function conditionsOf(source: string, runtime: Pick<StepRuntime, 'input' | 'firstStart'>, row: Row): readonly RowCondition[] {
  const parts = partsIn(source, runtime);
  return parts.length < 2 ? [] : parts.map(({ text, expression }) => ({ expression: text, ...outcomeOf(expression, row) }));
}

function partsIn(source: string, { input, firstStart }: Pick<StepRuntime, 'input' | 'firstStart'>): readonly Part[] {
  const start = () => firstStart;
  const [runtime, compiler] = [runtimeOver(input, start), expressionsOver(input, start)];

  function partsOf(text: string): readonly Part[] | undefined {
    const expression = compiler.compile(text);
    if (!('evaluate' in expression)) return undefined;
    return splitIn(text, runtime.parse(text).ast) ?? [{ text, expression }];
  }

  /** Splits a text at its `&&`, unless a comment is in the way. */
  function splitIn(text: string, { op, args }: ASTNode): readonly Part[] | undefined {
    if (op !== '&&') return undefined;
    const [left, right] = args;
    const at = text.indexOf('&&', left.end);
    if (at < 0 || at >= right.start) return undefined;
    const inside = /^\((.*)\)$/s.exec(text)?.[1];
    const [before, after] = [partsOf(text.slice(0, at).trim()), partsOf(text.slice(at + 2).trim())];
    return before && after ? [...before, ...after] : inside === undefined ? undefined : partsOf(inside.trim());
  }

  return partsOf(source.trim()) ?? [];
}

function outcomeOf(expression: Expression, row: Row): Omit<RowCondition, 'expression'> {
  try {
    const value = expression.evaluate(row);
    return { value: typeof value === 'boolean' ? value : null, problem: undefined };
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error;
    return { value: null, problem: error.message };
  }
}
