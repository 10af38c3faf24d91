import { map } from 'rxjs';
import { schema } from '../../core/index.js';
import { callback, checkArguments } from '../../options/index.js';
import { countOf, keepRows, type Step, type StepContext } from '../../flow/index.js';
import { sameColumns } from '../fields.js';
import { counting } from '../step.js';

const taken = schema((z) => z.strictObject({ condition: callback() }));

/**
 * Keeps the rows that satisfy a condition.
 *
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for anything that is not a function: expressions are for pipeline files. `E_STEP_FUNCTION`, from the
 * stream, when the condition throws (with the thrown value as the `cause`), or returns neither true nor false.
 *
 * @example
 * service.leads.pipe(filter((lead) => lead.lead_status === 'new'));
 */
export function filter<T, S extends T>(condition: (row: T) => row is S, context?: StepContext): Step<T, S>;
export function filter<T>(condition: (row: T) => boolean, context?: StepContext): Step<T, T>;
export function filter<T>(condition: (row: T) => boolean, context?: StepContext): Step<T, T> {
  checkArguments(context?.at ?? 'filter', taken, { condition });
  return counting('filter', context, sameColumns(), ({ at, tally }) =>
    map((page) => {
      const kept = keepRows(page, condition, at);
      tally.filtered += countOf(page) - countOf(kept);
      return kept;
    }),
  );
}
