import { isBatchPage, withBatch, withRows, type Page } from './page.js';
import { ofEachRow, refusedCondition } from './row-function.js';

/**
 * The rows for which a condition holds, which is told the row and nothing else; a page keeps the form that it has.
 *
 * @param at Name of the step in messages.
 * @throws {StepError} `E_STEP_FUNCTION` when the condition throws, and when it gives what is neither true nor false.
 */
export function keepRows<T>(page: Page<T>, condition: (row: T) => boolean, at: string): Page<T> {
  const holds = ofEachRow(page, { at, of: condition, refused: refusedCondition });
  if (!isBatchPage(page))
    return withRows(
      page,
      page.rows.filter((_, index) => holds[index]),
    );
  const kept = holds.flatMap((is, index) => (is ? [index] : []));
  return withBatch(page, page.batch.keep(kept));
}
