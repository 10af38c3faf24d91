import type { ASTNode } from '@marcbachmann/cel-js';
import { runtimeOver } from './environments.js';
import { expressionsOver, type Expression } from './expression.js';
import type { StepRuntime } from '../step.js';

/** A part of a condition. */
export interface Condition {
  /** As the file has it. */
  readonly source: string;
  readonly expression: Expression;
}

/** The parts that `&&` joins at the top of a condition, in their order; a condition without it is its only part. */
export function conditionsIn(source: string, { input, firstStart }: Pick<StepRuntime, 'input' | 'firstStart'>): readonly Condition[] {
  const start = () => firstStart;
  const [runtime, compiler] = [runtimeOver(input, start), expressionsOver(input, start)];

  function partsOf(text: string): readonly Condition[] | undefined {
    const expression = compiler.compile(text);
    if (!('evaluate' in expression)) return undefined;
    return splitIn(text, runtime.parse(text).ast) ?? [{ source: text, expression }];
  }

  /** Where parentheses or a comment stand in the way, the text stays whole. */
  function splitIn(text: string, { op, args }: ASTNode): readonly Condition[] | undefined {
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
