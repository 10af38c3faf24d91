import { map } from 'rxjs';
import type { Row } from '../../core/index.js';
import { RecordBatch } from '../../vector/index.js';
import { batchOf, withBatch, type Step } from '../../flow/index.js';
import { checkedConfig, builtInStep, stepOf } from '../step.js';
import { refuseRepeats, requireColumn } from '../fields.js';

/**
 * Keeps the named fields of every row, in the order given.
 *
 * @param fields At least one; a field that a row lacks becomes `null`.
 * @throws {StepError} `E_STEP_CONFIG` for an empty list; `E_STEP_FIELD` if no row of a non-empty page has one of the fields.
 *
 * @example
 * service.users.pipe(select(['uid', 'email']));
 * // { uid: '7', email: 'a@b.c', affid: '1' }  ->  { uid: '7', email: 'a@b.c' }
 */
export function select<T extends Row, K extends keyof T & string>(fields: readonly K[]): Step<T, Pick<T, K>> {
  return stepOf(selectStep, checkedConfig(selectStep, fields, {}), fields);
}

export const selectStep = builtInStep('select', {
  summary: 'Keeps some fields of every row.',
  config: (z) => z.array(z.string().min(1)).min(1).describe('Fields to keep, in output order.'),
  examples: [['lead_id', 'zipcode']],
  columns: (fields, input, plan) => {
    refuseRepeats(fields, plan);
    return fields.flatMap((name, index) => requireColumn(name, input, plan, [index]) ?? []);
  },
  open: (fields) =>
    map((page) => {
      const batch = batchOf(page);
      return withBatch(page, new RecordBatch(batch.length, new Map(fields.map((field) => [field, batch.columnOrNulls(field)] as const))));
    }),
});
