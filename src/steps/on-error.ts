import { StepError } from '../errors.js';
import type { OnError, StepContext } from '../flow/index.js';
import { taking, type Mapped, type RecordBatch, type Vector } from '../vector/index.js';
import { outcomesOf, type Expression } from './expression/index.js';

/** The rows of a page that are not rejected, and what each expression gives for them. */
export interface Evaluated {
  readonly batch: RecordBatch;
  /** By the name of the expression, in the order given. */
  readonly columns: ReadonlyMap<string, Vector>;
}

/**
 * Evaluates expressions at all rows of a page, and does with a failing row as `onError` says.
 *
 * @param expressions By the name that rejects and messages give them.
 * @throws {StepError} `E_STEP_EXPRESSION` under `fail`, from the function returned.
 */
export function evaluating(
  expressions: ReadonlyMap<string, Expression>,
  onError: OnError,
  context: StepContext,
): (batch: RecordBatch) => Evaluated {
  const outcomesIn = outcomesOf(expressions);

  /** Reports the first failure of a row, or counts all of them. */
  function stays(batch: RecordBatch, row: number, outcomes: ReadonlyMap<string, Mapped>): boolean {
    for (const [field, { unfit }] of outcomes) {
      const reason = unfit?.(row);
      if (reason === undefined) continue;
      if (onError === 'fail') throw new StepError('E_STEP_EXPRESSION', `${context.at}: ${field}: ${reason}`);
      if (onError === 'reject') {
        context.reject(batch.row(row), { field, reason });
        context.tally.rejected += 1;
        return false;
      }
      context.tally.nulled += 1;
    }
    return true;
  }

  return (batch) => {
    const outcomes = outcomesIn(batch);
    const columns = new Map(Array.from(outcomes, ([name, { vector }]) => [name, vector]));
    if ([...outcomes.values()].every(({ unfit }) => unfit === undefined)) return { batch, columns };
    const kept: number[] = [];
    for (let row = 0; row < batch.length; row += 1) if (stays(batch, row, outcomes)) kept.push(row);
    if (kept.length === batch.length) return { batch, columns };
    const take = taking(kept);
    return { batch: batch.take(kept), columns: new Map(Array.from(columns, ([name, vector]) => [name, take(vector)])) };
  };
}
