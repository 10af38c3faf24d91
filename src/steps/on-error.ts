import type { Value } from '../collections/index.js';
import { rowAt, type Content } from '../columnar/index.js';
import { StepError } from '../errors.js';
import { keepRows, type OnError, type StepContext } from '../flow/index.js';
import { outcomesOf, Unfit, type Expression, type Outcomes } from './expression/index.js';

/** The rows of a page that are not rejected, and what each expression gives for them. */
export interface Evaluated {
  readonly content: Content;
  readonly columns: readonly (readonly Value[])[];
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
): (content: Content) => Evaluated {
  const fields = [...expressions.keys()];
  const outcomesIn = outcomesOf([...expressions.values()]);

  /** Reports the first failure of a row, or counts all of them. */
  function stays(content: Content, row: number, columns: readonly Outcomes[]): boolean {
    for (const [index, column] of columns.entries()) {
      const outcome = column[row];
      if (!(outcome instanceof Unfit)) continue;
      const { reason } = outcome;
      const field = fields[index] ?? '';
      if (onError === 'fail') throw new StepError('E_STEP_EXPRESSION', `${context.at}: ${field}: ${reason}`);
      if (onError === 'reject') {
        context.reject(rowAt(content, row) ?? {}, { field, reason });
        context.tally.rejected += 1;
        return false;
      }
      context.tally.nulled += 1;
    }
    return true;
  }

  return (content) => {
    const columns = outcomesIn(content);
    if (columns.every(areValues)) return { content, columns };
    const kept: number[] = [];
    for (let row = 0; row < content.length; row += 1) if (stays(content, row, columns)) kept.push(row);
    return { content: keepRows(content, kept), columns: columns.map((column) => kept.map((row) => valueOf(column[row]))) };
  };
}

function areValues(outcomes: Outcomes): outcomes is readonly Value[] {
  return !outcomes.some((outcome) => outcome instanceof Unfit);
}

function valueOf(outcome: Value | Unfit | undefined): Value {
  return outcome === undefined || outcome instanceof Unfit ? null : outcome;
}
