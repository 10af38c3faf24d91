import { map } from 'rxjs';
import { StepError, type Zod } from '../../core/index.js';
import { withBatch, type ConfigPath } from '../../flow/index.js';
import { openExpression, planExpression } from '../expression/configured.js';
import { evaluating, keptRows } from '../on-error.js';
import { defineStep, nothingKept } from '../step.js';

/** The configuration of a filter. */
export interface FilterConfig {
  readonly where: string;
  readonly otherwise: 'drop' | 'reject' | 'fail';
  /** Path of the condition in the configuration. */
  readonly path: ConfigPath;
}

const shape = (z: Zod) => {
  const where = z.string().min(1).describe('Condition over the fields of the row.');
  const otherwise = z
    .enum(['drop', 'reject', 'fail'])
    .default('drop')
    .describe(
      'What happens to the other rows: they are dropped and counted as filtered, go to the rejects, or the first one fails the run.',
    );
  return z.union([where, z.strictObject({ where, otherwise })]);
};

export const filterStep = defineStep('filter', {
  summary:
    'Keeps the rows for which an expression (CEL) is true; the others, including those for which it is null, are dropped or rejected.',
  config: (z) =>
    shape(z).transform((given): FilterConfig =>
      typeof given === 'string' ? { where: given, otherwise: 'drop', path: [] } : { ...given, path: ['where'] },
    ),
  keepsRows: true,
  examples: ["lead_status == 'sold' && !blank(email)", { where: 'blank(age) || num(age) >= 18.0', otherwise: 'reject' }],
  columns: ({ where, path }, input, plan) => {
    const expression = planExpression(where, input, plan, path);
    if (expression && expression.type !== 'flag') plan.problem(path, `a condition is true or false, but this is ${expression.type}`);
    return input;
  },
  open: ({ where, otherwise }, runtime) => {
    const expression = openExpression(where, runtime);
    const fields = runtime.input.map(({ name }) => name).filter((name) => expression.names.includes(name));
    const evaluate = evaluating(new Map([['condition', expression]]), runtime.onError, runtime);
    return map((page) => {
      const { batch, columns } = evaluate(page);
      const condition = columns.get('condition');
      const isTrue = (row: number) => condition?.value(row) === true;
      if (otherwise === 'drop' || condition === undefined) {
        const kept = batch.filter(isTrue);
        runtime.tally.filtered += batch.length - kept.length;
        return withBatch(page, kept);
      }
      const unfit = (row: number) => (isTrue(row) ? undefined : `does not satisfy ${where.replaceAll(/\s+/g, ' ')}`);
      const outcomes = new Map([[fields.join(' + ') || 'condition', { vector: condition, unfit }]]);
      const failure = (field: string, reason: string, row: string) =>
        new StepError('E_STEP_CONDITION', `${runtime.at}: ${field} ${reason} in ${row}`);
      const kept = keptRows({ page: page.number, batch }, outcomes, otherwise, runtime, failure);
      return withBatch(page, kept === undefined ? batch : batch.take(kept));
    });
  },
  remark: (_, tally, arrived) => nothingKept(tally, arrived),
});
