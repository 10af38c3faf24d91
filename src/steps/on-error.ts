import { pickAll, rowAt, type Cells, type Content } from '../columnar/index.js';
import { StepError } from '../errors.js';
import { keepRows, type OnError, type StepContext } from '../flow/index.js';
import { outcomesOf, type Expression, type Outcomes } from './expression/index.js';

/** The rows of a page that are not rejected, and what each expression gives for them. */
export interface Evaluated {
  readonly content: Content;
  readonly columns: readonly Cells[];
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
  function stays(content: Content, row: number, outcomes: readonly Outcomes[]): boolean {
    for (const [index, { unfit }] of outcomes.entries()) {
      const reason = unfit?.(row);
      if (reason === undefined) continue;
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
    const outcomes = outcomesIn(content);
    const columns = outcomes.map(({ cells }) => cells);
    if (outcomes.every(({ unfit }) => unfit === undefined)) return { content, columns };
    const kept: number[] = [];
    for (let row = 0; row < content.length; row += 1) if (stays(content, row, outcomes)) kept.push(row);
    return { content: keepRows(content, kept), columns: kept.length === content.length ? columns : pickAll(columns, kept) };
  };
}
