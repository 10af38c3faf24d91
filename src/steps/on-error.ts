import type { Value } from '../collections/index.js';
import { Table } from '../columnar/index.js';
import { StepError } from '../errors.js';
import { rowAt, type Content, type OnError, type StepContext } from '../flow/index.js';
import { ExpressionFault, type Expression } from './expression/index.js';

/** The row went to the rejects. */
export const rejected = Symbol('rejected');

/**
 * Evaluates an expression at the rows of a page, by their index, and does with a failing row as `onError` says.
 *
 * @param field Name for the rejects and messages.
 * @throws {StepError} `E_STEP_EXPRESSION` under `fail`, from the function returned.
 */
export function evaluatedIn(
  content: Content,
  expression: Expression,
  field: string,
  onError: OnError,
  context: StepContext,
): (row: number) => Value | typeof rejected {
  const evaluate = content instanceof Table ? expression.over(content) : (row: number) => expression.evaluate(content[row] ?? {});

  return (row) => {
    try {
      return evaluate(row);
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      if (onError === 'fail') throw new StepError('E_STEP_EXPRESSION', `${context.at}: ${field}: ${error.message}`);
      if (onError === 'null') {
        context.tally.nulled += 1;
        return null;
      }
      context.reject(rowAt(content, row) ?? {}, { field, reason: error.message });
      context.tally.rejected += 1;
      return rejected;
    }
  };
}
