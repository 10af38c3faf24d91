import { map } from 'rxjs';
import { z } from 'zod';
import type { Row } from '../../collections/index.js';
import { valueAt } from '../../columnar/index.js';
import { contentOf, keepWhere, standalone, withRows, type Step, type StepContext } from '../../flow/index.js';
import { openExpression, planExpression } from '../expression/index.js';
import { rowsOf } from '../fields.js';
import { evaluating } from '../on-error.js';
import { defineStep } from '../step.js';

/**
 * Keeps the rows that satisfy a condition.
 *
 * @example
 * leads$.pipe(filter((lead) => lead.lead_status === 'new'));
 */
export function filter<T extends Row>(condition: (row: T) => boolean, context: StepContext = standalone('filter')): Step<T, T> {
  return map((page) => {
    const rows = page.rows.filter(condition);
    context.tally.filtered += page.rows.length - rows.length;
    return withRows(page, rows);
  });
}

export const filterStep = defineStep('filter', {
  summary: 'Keeps the rows for which an expression (CEL) is true; one that is null drops the row.',
  config: z.string().min(1).describe('Condition over the fields of the row.'),
  examples: ["lead_status == 'sold' && !blank(email)"],
  columns: (source, input, plan) => {
    const expression = planExpression(source, input, plan, []);
    if (expression && expression.type !== 'flag') plan.problem([], `a condition is true or false, but this gives ${expression.type}`);
    return input;
  },
  open: (source, runtime) => {
    const expression = openExpression(source, runtime.input, runtime.at);
    const evaluate = evaluating(new Map([['condition', expression]]), runtime.onError, runtime);
    return map((page) => {
      const {
        content,
        columns: [values = []],
      } = evaluate(contentOf(page));
      const kept = keepWhere(content, (row) => valueAt(values, row) === true);
      runtime.tally.filtered += content.length - kept.length;
      return withRows(page, kept);
    });
  },
  remark: (_, { filtered, rejected }, arrived) =>
    filtered > 0 && filtered + rejected === arrived
      ? { code: 'W_STEP_EMPTY', message: `none of ${rowsOf(arrived)} is kept; expect.min_rows refuses that` }
      : undefined,
});
