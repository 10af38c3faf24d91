import { StepError, type Row, type Value } from '../core/index.js';
import { batchOf, failureAt, type OnError, type Page, type StepContext } from '../flow/index.js';
import { dictionaryEncoder, mapping, mappedFrom, taking, Unfit, type Mapped, type RecordBatch, type Vector } from '../vector/index.js';
import { ExpressionFault } from './expression/functions.js';
import type * as Expressions from './expression/expression.js';
import type { StepRuntime } from './step.js';

let loaded: typeof Expressions | undefined;

/** Loads the evaluation of expressions (CEL), which only pipeline files need. */
export async function loadExpressions(): Promise<void> {
  loaded ??= await import('./expression/expression.js');
}

/** @throws {Error} If the functions were not loaded, which is a bug. */
export function expressions(): typeof Expressions {
  if (!loaded) throw new Error('expressions were not loaded');
  return loaded;
}

/**
 * Treats rows with an unfit value by `onError`: under `fail` and `reject`, the first unfit value of a row counts, under `null` all do.
 * @param failure Makes the error under `fail` from the row in words. Default: `E_STEP_VALUE`.
 * @returns The indexes of the rows that stay; `undefined` for all.
 */
export function keptRows(
  { page, batch }: { readonly page: number; readonly batch: RecordBatch },
  outcomes: ReadonlyMap<string, Mapped>,
  onError: OnError,
  { at, tally, reject }: StepContext,
  failure = (field: string, reason: string, row: string) => new StepError('E_STEP_VALUE', `${at}: field ${field} ${reason} in ${row}`),
): readonly number[] | undefined {
  if ([...outcomes.values()].every(({ unfit }) => unfit === undefined)) return undefined;

  function stays(index: number): boolean {
    for (const [field, { unfit }] of outcomes) {
      const reason = unfit?.(index);
      if (reason === undefined) continue;
      const row = onError === 'null' ? undefined : batch.row(index);
      if (onError === 'fail') throw failureAt({ at, page, index, row }, (where) => failure(field, reason, where));
      if (row !== undefined) {
        reject(row, { field, reason, page, index });
        tally.rejected += 1;
        return false;
      }
      tally.nulled += 1;
    }
    return true;
  }

  const kept: number[] = [];
  for (let row = 0; row < batch.length; row += 1) if (stays(row)) kept.push(row);
  return kept.length === batch.length ? undefined : kept;
}

/** Evaluates expressions, by name, on a page's rows. Returns the rows that stay, and results. @throws {StepError} `E_STEP_EXPRESSION`. */
export function evaluating(expressions: ReadonlyMap<string, Expressions.Expression>, context: StepRuntime) {
  const outcomesIn = outcomesOf(expressions);

  return (page: Page) => {
    const batch = batchOf(page);
    const outcomes = outcomesIn(batch);
    const columns = new Map(Array.from(outcomes, ([name, { vector }]) => [name, vector]));
    const kept = keptRows(
      { page: page.number, batch },
      outcomes,
      context.onError ?? 'reject',
      context,
      (field, reason, row) => new StepError('E_STEP_EXPRESSION', `${context.at}: ${field}: ${reason} in ${row}`),
    );
    if (kept === undefined) return { batch, columns };
    const take = taking(kept);
    return { batch: batch.take(kept), columns: new Map(Array.from(columns, ([name, vector]) => [name, take(vector)])) };
  };
}

/**
 * Evaluates expressions on all rows of a batch. A repeated value of an expression's only column is not evaluated again, and is looked up
 * once for all expressions on that column; their results share its indices. For other expressions, rows are made with the fields they name.
 * Memory: as `dictionaryEncoder`, for each column with an expression.
 */
export function outcomesOf(expressions: ReadonlyMap<string, Expressions.Expression>): (batch: RecordBatch) => ReadonlyMap<string, Mapped> {
  const evaluators = Array.from(expressions, ([name, expression]) => [name, evaluator(expression)] as const);
  const encoderOf = remembering(dictionaryEncoder);

  return (batch) => {
    const encoded = remembering((column) => encoderOf(column)(batch.column(column)));
    return new Map(evaluators.map(([name, evaluate]) => [name, evaluate(batch, encoded)]));
  };
}

function evaluator(expression: Expressions.Expression): (batch: RecordBatch, columnOf: (name: string) => Vector) => Mapped {
  const mappingOf = remembering((column) => mapping((value) => attempt(expression, { [column]: value })));

  return (batch, columnOf) => {
    const named = batch.select(expression.names);
    const [column] = named.columns.keys();
    if (column === undefined || named.columns.size > 1) return mappedFrom(named.rows(), (row) => attempt(expression, row));
    return mappingOf(column)(columnOf(column));
  };
}

function remembering<R>(make: (name: string) => R): (name: string) => R {
  const made = new Map<string, R>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const fresh = make(name);
    made.set(name, fresh);
    return fresh;
  };
}

function attempt(expression: Expressions.Expression, row: Row): Value | Unfit {
  try {
    return expression.evaluate(row);
  } catch (error) {
    if (error instanceof ExpressionFault) return new Unfit(error.message);
    throw error;
  }
}
