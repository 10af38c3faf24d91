import { map } from 'rxjs';
import { type Row, StepError, hintAt } from '../core/index.js';
import { batchOf, withBatch, type Step } from '../flow/index.js';

/**
 * Holds the fields that a step was given in code against the rows; of a pipeline file the plan has done so. Pages pass as they are, by
 * columns. A page without rows says nothing of fields.
 *
 * @throws {StepError} `E_STEP_FIELD`, by the stream, when no row of a non-empty page has one of them.
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
