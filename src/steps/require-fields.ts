import { map } from 'rxjs';
import { type Row, StepError, hintAt } from '../core/index.js';
import { batchOf, withBatch, type Step } from '../flow/index.js';

/**
 * Checks the fields passed to a step in code against the rows; for a pipeline file the plan has already done so. Pages pass unchanged, as columns. A
 * page without rows is not checked.
 *
 * @throws {StepError} `E_STEP_FIELD`, from the stream, when no row of a non-empty page has one of them.
 */
export function requireFields<T extends Row>(at: string, fields: readonly string[]): Step<T, T> {
  return map((page) => {
    const batch = batchOf(page);
    const absent = batch.length > 0 ? fields.find((field) => !batch.columns.has(field)) : undefined;
    if (absent !== undefined) {
      const hint = hintAt(absent, [...batch.columns.keys()]);
      throw new StepError('E_STEP_FIELD', `${at}: no row of page ${page.number} has a field ${absent}${hint}`);
    }
    return withBatch<T>(page, batch);
  });
}
