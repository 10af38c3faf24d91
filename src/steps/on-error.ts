import { StepError } from '../core/index.js';
import { batchOf, failureAt, type OnError, type Page, type StepContext } from '../flow/index.js';
import { taking, type Mapped, type RecordBatch, type Vector } from '../vector/index.js';
import { outcomesOf } from './expression/outcomes.js';
import type { Expression } from './expression/expression.js';

/** The rows of a page at a step. */
interface Arrived {
  readonly page: number;
  readonly batch: RecordBatch;
}

/** The rows of a page that are not rejected, with the results of each expression for them. */
export interface Evaluated {
  readonly batch: RecordBatch;
  /** By the name of the expression, in the order given. */
  readonly columns: ReadonlyMap<string, Vector>;
}

/**
 * Treats rows with an unfit value according to `onError`: under `fail` and `reject` the first unfit value of a row counts, under `null` every one.
 *
 * @param failure Makes the error under `fail`, from the row in words.
 * @returns The indexes of the rows that stay; `undefined` when all do.
 */
export function keptRows(
  { page, batch }: Arrived,
  outcomes: ReadonlyMap<string, Mapped>,
  onError: OnError,
  { at, tally, reject }: StepContext,
  failure: (field: string, reason: string, row: string) => StepError,
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

/**
 * Evaluates expressions on all rows of a page, and treats rows that fail according to `onError`.
 *
 * @param expressions By their names in rejects and messages.
 * @throws {StepError} `E_STEP_EXPRESSION` under `fail`, from the returned function.
 */
export function evaluating(
  expressions: ReadonlyMap<string, Expression>,
  context: StepContext & { readonly onError?: OnError },
): (page: Page) => Evaluated {
  const outcomesIn = outcomesOf(expressions);

  return (page) => {
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

/** Returns a function that makes the error of a step that cannot spill rows to disk. */
export function scratchFailure(at: string): (message: string) => StepError {
  return (message) => new StepError('E_STEP_SCRATCH', `${at}: ${message}`);
}
