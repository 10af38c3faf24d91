import { map } from 'rxjs';
import { withBatch, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { openExpression, planExpression } from '../expression/configured.js';
import type { Expression } from '../expression/expression.js';
import { derivedColumns } from './derive.js';
import { evaluating } from '../on-error.js';
import { defineStep } from '../step.js';
import { columnName, sensitivityOf } from '../fields.js';

/** Adds the results of expressions. Rows for which one fails are treated according to `onError`. */
function deriveExpressions(expressions: ReadonlyMap<string, Expression>, onError: OnError, context: StepContext): Step {
  const evaluate = evaluating(expressions, onError, context);
  return map((page) => {
    const { batch, columns } = evaluate(page);
    return withBatch(page, batch.with(columns));
  });
}

export const deriveStep = defineStep('derive', {
  summary: 'Adds fields computed by expressions (CEL) from the fields that the row had before the step.',
  config: (z) => z.record(columnName(), z.string().min(1)).describe('Expression by new field.'),
  examples: [{ zip_city: 'zip_city(zipcode)', zip_state: 'zip_state(zipcode)' }],
  columns: (sources, input, plan) => {
    const derived = Object.entries(sources).map(([name, source]) => {
      const expression = planExpression(source, input, plan, [name], Object.keys(sources));
      return { name, type: expression?.type ?? 'text', sensitivity: sensitivityOf(source, input) };
    });
    return derivedColumns(derived, input);
  },
  open: (sources, runtime) => {
    const expressions = Object.entries(sources).map(([name, source]) => [name, openExpression(source, runtime)] as const);
    return deriveExpressions(new Map(expressions), runtime.onError, runtime);
  },
});
