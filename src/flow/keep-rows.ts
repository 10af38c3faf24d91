import { isBatchPage, withBatch, withRows, type Page } from './page.js';
import { ofEachRow, refusedCondition } from './row-function.js';

/**
 * Keeps the rows that satisfy a condition, which receives only the row. The page stays columnar if it was.
 *
 * @param at Name of the step in messages.
 * @throws {StepError} `E_STEP_FUNCTION` if the condition throws, or returns neither true nor false.
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
