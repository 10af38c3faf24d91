import { map } from 'rxjs';
import { itemAt, schema, StepError, type Column } from '../../core/index.js';
import { callback, checkArguments } from '../../options/index.js';
import { countOf, keepRows, withBatch, type ConfigPath, type Page, type Step } from '../../flow/index.js';
import { expressions, evaluating, keptRows } from '../evaluation.js';
import { builtInStep, nothingKept, stepOf, type PlanContext, type StepRuntime } from '../step.js';

export interface FilterConfig {
  readonly where: string | ((row: never) => boolean);
  readonly otherwise: 'drop' | 'reject' | 'fail';
  readonly path: ConfigPath;
}

const parameters = schema((z) => z.strictObject({ condition: callback() }));

/**
 * Keeps the rows that satisfy a condition.
 *
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for anything but a function: expressions are for pipeline files. `E_STEP_FUNCTION`,
 * from the stream, if the condition throws (this is the `cause`) or returns neither true nor false.
 *
 * @example
 * service.leads.pipe(filter((lead) => lead.lead_status === 'new'));
 */
export function filter<T, S extends T>(condition: (row: T) => row is S): Step<T, S>;
export function filter<T>(condition: (row: T) => boolean): Step<T, T>;
export function filter<T>(condition: (row: T) => boolean): Step<T, T> {
  checkArguments('filter', parameters, { condition });
  return stepOf(filterStep, { where: condition, otherwise: 'drop', path: [] }, []);
}

export const filterStep = builtInStep('filter', {
  summary: 'Keeps the rows for which an expression (CEL) is true, and drops or rejects the others, also where it is null.',
  config: (z) => {
    const where = z.string().min(1).describe('Condition over the fields of the row.');
    const otherwise = z
      .enum(['drop', 'reject', 'fail'])
      .default('drop')
      .describe(
        'What happens to the other rows: they are dropped and counted as filtered, go to the rejects, or the first one fails the run.',
      );
    return z
      .union([where, z.strictObject({ where, otherwise })])
      .transform((given): FilterConfig =>
        typeof given === 'string' ? { where: given, otherwise: 'drop', path: [] } : { ...given, path: ['where'] },
      );
  },
  keepsRows: true,
  examples: ["lead_status == 'sold' && !blank(email)", { where: 'blank(age) || num(age) >= 18.0', otherwise: 'reject' }],
  columns: ({ where, path }, input, plan) => {
    if (typeof where === 'string') planCondition(where, input, plan, path);
    return input;
  },
  open: ({ where, otherwise }, runtime) => {
    const { at, tally, input = [] } = runtime;
    if (typeof where !== 'string')
      return map((page) => {
        const kept: Page = keepRows(page as Page<never>, where, at);
        tally.filtered += countOf(page) - countOf(kept);
        return kept;
      });
    if (otherwise === 'drop') return map(keeping(where, runtime));
    const expression = expressions().openExpression(where, runtime);
    const fields = input.map(({ name }) => name).filter((name) => expression.names.includes(name));
    const evaluate = evaluating(new Map([['condition', expression]]), runtime);
    return map((page) => {
      const { batch, columns } = evaluate(page);
      const vector = itemAt([...columns.values()], 0);
      const isTrue = (row: number) => vector.value(row) === true;
      const unfit = (row: number) => (isTrue(row) ? undefined : `does not satisfy ${where.replaceAll(/\s+/g, ' ')}`);
      const outcomes = new Map([[fields.join(' + ') || 'condition', { vector, unfit }]]);
      const failure = (field: string, reason: string, row: string) =>
        new StepError('E_STEP_CONDITION', `${at}: ${field} ${reason} in ${row}`);
      const kept = keptRows({ page: page.number, batch }, outcomes, otherwise, runtime, failure);
      return withBatch(page, kept === undefined ? batch : batch.take(kept));
    });
  },
  remark: (_, tally, arrived) => nothingKept(tally, arrived),
});

/** Checks the condition of a file, which is an expression over the fields of the row. */
export function planCondition(where: string, input: readonly Column[], plan: PlanContext, path: ConfigPath): void {
  const expression = expressions().planExpression(where, input, plan, path);
  if (expression && expression.type !== 'flag') plan.problem(path, `a condition must be true or false, not ${expression.type}`);
}

/** Keeps the rows for which an expression is true, and counts the others as filtered. Rows on which it fails go by `onError`. */
export function keeping(where: string, runtime: StepRuntime): (page: Page) => Page {
  const evaluate = evaluating(new Map([['condition', expressions().openExpression(where, runtime)]]), runtime);
  return (page) => {
    const { batch, columns } = evaluate(page);
    const vector = itemAt([...columns.values()], 0);
    const kept = batch.filter((row) => vector.value(row) === true);
    runtime.tally.filtered += batch.length - kept.length;
    return withBatch(page, kept);
  };
}
