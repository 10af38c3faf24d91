import type { Value } from '../collections/index.js';
import { StepError } from '../errors.js';
import { rowAt, type Content, type OnError, type StepContext } from '../flow/index.js';
import { outcomesOf, Unfit, type Expression } from './expression/index.js';

/** The row went to the rejects. */
export const rejected = Symbol('rejected');

/**
 * Evaluates expressions at the rows of pages, by their index, and does with a failing row as `onError` says.
 *
 * @param expressions By the name that rejects and messages give them.
 * @returns For a page, a function for each expression, in their order.
 * @throws {StepError} `E_STEP_EXPRESSION` under `fail`, when such a function is called.
 */
export function evaluating(
  expressions: ReadonlyMap<string, Expression>,
  onError: OnError,
  context: StepContext,
): (content: Content) => readonly ((row: number) => Value | typeof rejected)[] {
  const fields = [...expressions.keys()];
  const outcomesIn = outcomesOf([...expressions.values()]);

  function settle(content: Content, row: number, field: string, reason: string): null | typeof rejected {
    if (onError === 'fail') throw new StepError('E_STEP_EXPRESSION', `${context.at}: ${field}: ${reason}`);
    if (onError === 'null') {
      context.tally.nulled += 1;
      return null;
    }
    context.reject(rowAt(content, row) ?? {}, { field, reason });
    context.tally.rejected += 1;
    return rejected;
  }

  return (content) =>
    outcomesIn(content).map((outcomeAt, index) => (row) => {
      const outcome = outcomeAt(row);
      return outcome instanceof Unfit ? settle(content, row, fields[index] ?? '', outcome.reason) : outcome;
    });
}
