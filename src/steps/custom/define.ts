import { defer, map } from 'rxjs';
import { LeadstreamError, reasonOf, StepError, whatWasThrown, type Row } from '../../core/index.js';
import { batchOf, ofEachRow, withBatch, type Page, type Refused, type Step, type StepContext } from '../../flow/index.js';
import { checkedOptions, extended, extensionConfig, extensionOf, extensionProblem, given, takesTyped } from '../../options/index.js';
import { counting } from '../counted-step.js';
import type { StepDefinition } from '../step.js';
import { contradiction, stepChecks } from './check.js';
import { columnsFor, leavingColumns, type StepColumns } from './columns.js';
import type { AddedColumns, AnyStep, CustomStep, StepDeclaration } from './declaration.js';
import { GivenRows } from './rows.js';

/**
 * Defines a custom step, for programs and for pipeline files.
 *
 * @param name Name of the step in files; made of a-z, 0-9 and `_`.
 * @returns A function that makes the step from its options. Pass it to `loadPipeline(file, { steps: [it] })` or `leadstream run --plugin` as well.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for an invalid declaration.
 *
 * @example
 * const inEuro = defineStep('in_euro', {
 *   version: '1',
 *   options: z.object({ field: z.string(), rate: z.number().positive() }),
 *   needs: ({ field }) => [field],
 *   adds: { euro: 'decimal' },
 *   open: ({ field, rate }) => (row) => ({ ...row, euro: Number(row[field]) * rate }),
 * });
 * service.collection('orders').pipe(inEuro({ field: 'total', rate: 0.92 }));
 * // { no: '7', total: '100' }  ->  { no: '7', total: '100', euro: 92 }
 * // in a file: - in_euro: { field: total, rate: 0.92 }
 */
export function defineStep<
  O = undefined,
  I = O,
  const A extends AddedColumns = Readonly<Record<never, never>>,
  const R extends string = never,
>(name: string, declaration: StepDeclaration<I, O, A, R>): CustomStep<I, A, R> {
  const problem = extensionProblem(name, declaration, stepChecks) ?? contradictionOf(name, declaration);
  if (problem !== undefined) throw new StepError('E_STEP_CONFIG', `defineStep: ${problem}`);
  // Only the declaration needs to know the types of its options and columns.
  const step = declaration as unknown as AnyStep;
  return extended('step', name, declaration, (options?: unknown): Step => stepInCode(name, step, options)) as unknown as CustomStep<
    I,
    A,
    R
  >;
}

function contradictionOf(name: string, declaration: object): string | undefined {
  const problem = contradiction(declaration);
  return problem === undefined ? undefined : `${name}: ${problem}`;
}

/** Returns a custom step as pipeline files use it; `undefined` for any other value. */
export function customStepOf(value: unknown): StepDefinition | undefined {
  const extension = extensionOf(value);
  if (extension?.kind !== 'step') return undefined;
  const { name } = extension;
  // Already checked by `defineStep`, of this or another copy of leadstream.
  const step = extension.declaration as AnyStep;
  const { summary = 'A step from a plug-in.', version = '', rows = 'same' } = step;
  return {
    ...{ name, summary, examples: [], version },
    takesTyped: takesTyped(step.options),
    config: () => extensionConfig(step.options),
    addsRows: () => rows === 'any',
    columns: (options, input, plan) => {
      const columns = attempt(() => columnsFor(step, options));
      if ('value' in columns) return leavingColumns(columns.value, rows === 'any', input, plan);
      plan.problem([], columns.problem);
      return input;
    },
    open: (options, runtime) => opened(step, options, columnsFor(step, options), runtime),
  };
}

function stepInCode(name: string, step: AnyStep, options: unknown): Step {
  const refuse = (message: string) => new StepError('E_STEP_CONFIG', `${name}: ${message}`);
  const checked = checkedOptions(step.options, options, false);
  if (!('value' in checked)) throw refuse(checked.problems.map(({ message }) => message).join('; '));
  const columns = attempt(() => columnsFor(step, checked.value));
  if (!('value' in columns)) throw refuse(columns.problem);
  return counting(
    name,
    undefined,
    (input, context) => leavingColumns(columns.value, step.rows === 'any', input, context),
    (context) => opened(step, checked.value, columns.value, context),
  );
}

/** Calls a function of a declaration, and returns its result or why there is none. The function sees options only, never a row. */
function attempt<T>(work: () => T): { readonly value: T } | { readonly problem: string } {
  try {
    return { value: work() };
  } catch (thrown) {
    return { problem: `cannot determine its columns: ${reasonOf(thrown)}` };
  }
}

function opened(step: AnyStep, options: unknown, columns: StepColumns, context: StepContext): Step {
  return (pages$) =>
    defer(() => {
      const of = rowFunction(step, options, context.at);
      return pages$.pipe(map((page) => stepped(page, of, { step, columns, context })));
    });
}

function rowFunction(step: AnyStep, options: unknown, at: string): (row: Row) => unknown {
  const of = openedBy(step, options, at);
  if (typeof of === 'function') return of as (row: Row) => unknown;
  throw new StepError('E_STEP_FUNCTION', `${at}: open returned ${given(of)}; it must return a function that is called with each row`);
}

function openedBy(step: AnyStep, options: unknown, at: string): unknown {
  try {
    return step.open(options, { at });
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw new StepError('E_STEP_FUNCTION', `${at}: open threw ${whatWasThrown(thrown)}`, { cause: thrown });
  }
}

interface Stepping {
  readonly step: AnyStep;
  readonly columns: StepColumns;
  readonly context: StepContext;
}

/** Runs the step on a page. Every row is counted in the tally. */
function stepped(page: Page, of: (row: Row) => unknown, { step, columns, context }: Stepping): Page {
  const { at, tally } = context;
  const batch = batchOf(page);
  const taken = new GivenRows(batch, columns, step.rows ?? 'same');
  const refused = (given: unknown, row: Row): Refused | undefined => {
    const before = taken.length;
    const wrong = taken.take(row, given);
    if (wrong) return wrong;
    const more = taken.length - before - 1;
    if (more < 0) tally.filtered += 1;
    else tally.expanded += more;
    return undefined;
  };
  ofEachRow(withBatch<Row>(page, batch), { at, of, refused });
  return withBatch(page, taken.toBatch());
}
