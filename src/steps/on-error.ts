import type { Row, Value } from '../collections/index.js';
import { StepError } from '../errors.js';
import type { OnError, StepContext } from '../flow/index.js';
import { ExpressionFault, type Expression } from './expression/index.js';

/** The row went to the rejects. */
export const rejected = Symbol('rejected');

/**
 * Evaluates an expression and does with a failing row as `onError` says.
 *
 * @param field Name for the rejects and messages.
 * @throws {StepError} `E_STEP_EXPRESSION` under `fail`.
 */
export function evaluated(
  expression: Expression,
  row: Row,
  field: string,
  onError: OnError,
  context: StepContext,
): Value | typeof rejected {
  try {
    return expression.evaluate(row);
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error;
    if (onError === 'fail') throw new StepError('E_STEP_EXPRESSION', `${context.at}: ${field}: ${error.message}`);
    if (onError === 'null') {
      context.tally.nulled += 1;
      return null;
    }
    context.reject(row, { field, reason: error.message });
    context.tally.rejected += 1;
    return rejected;
  }
}
