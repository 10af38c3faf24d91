import { map } from 'rxjs';
import { withBatch } from '../../flow/index.js';
import { conditionsOf } from '../expression/conditions.js';
import { openExpression, planExpression } from '../expression/configured.js';
import { nothingKept } from '../nothing-kept.js';
import { evaluating } from '../on-error.js';
import { defineStep } from '../step.js';

export const filterStep = defineStep('filter', {
  summary: 'Keeps the rows for which an expression (CEL) is true; one that is null drops the row.',
  config: (z) => z.string().min(1).describe('Condition over the fields of the row.'),
  keepsRows: true,
  expressions: (source) => [source],
  conditions: conditionsOf,
  examples: ["lead_status == 'sold' && !blank(email)"],
  columns: (source, input, plan) => {
    const expression = planExpression(source, input, plan, []);
    if (expression && expression.type !== 'flag') plan.problem([], `a condition is true or false, but this gives ${expression.type}`);
    return input;
  },
  open: (source, runtime) => {
    const expression = openExpression(source, runtime);
    const evaluate = evaluating(new Map([['condition', expression]]), runtime.onError, runtime);
    return map((page) => {
      const { batch, columns } = evaluate(page);
      const kept = batch.filter((row) => columns.get('condition')?.value(row) === true);
      runtime.tally.filtered += batch.length - kept.length;
      return withBatch(page, kept);
    });
  },
  remark: (_, tally, arrived) => nothingKept(tally, arrived),
});
