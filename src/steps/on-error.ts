import { StepError } from '../core/index.js';
import { batchOf, failureAt, type OnError, type Page, type StepContext } from '../flow/index.js';
import { taking, type Mapped, type RecordBatch, type Vector } from '../vector/index.js';
import { outcomesOf } from './expression/outcomes.js';
import type { Expression } from './expression/expression.js';

/** The rows that a step has of a page. */
interface Arrived {
  readonly page: number;
  readonly batch: RecordBatch;
}

/** The rows of a page that are not rejected, and what each expression gives for them. */
export interface Evaluated {
  readonly batch: RecordBatch;
  /** By the name of the expression, in the order given. */
  readonly columns: ReadonlyMap<string, Vector>;
}

/**
 * Does with the rows that have an unfit value as `onError` says: the first one of a row is reported, or all are counted.
 *
 * @param failure What the stream fails with under `fail`; gets the row in words.
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
 * Evaluates expressions at all rows of a page, and does with a failing row as `onError` says.
 *
 * @param expressions By the name that rejects and messages give them.
 * @throws {StepError} `E_STEP_EXPRESSION` under `fail`, from the function returned.
 */
export function evaluating(
  expressions: ReadonlyMap<string, Expression>,
  onError: OnError,
  context: StepContext,
): (page: Page) => Evaluated {
  const outcomesIn = outcomesOf(expressions);

  return (page) => {
    const batch = batchOf(page);
    const outcomes = outcomesIn(batch);
    const columns = new Map(Array.from(outcomes, ([name, { vector }]) => [name, vector]));
    const kept = keptRows(
      { page: page.number, batch },
      outcomes,
      onError,
      context,
      (field, reason, row) => new StepError('E_STEP_EXPRESSION', `${context.at}: ${field}: ${reason} in ${row}`),
    );
    if (kept === undefined) return { batch, columns };
    const take = taking(kept);
    return { batch: batch.take(kept), columns: new Map(Array.from(columns, ([name, vector]) => [name, take(vector)])) };
  };
}
