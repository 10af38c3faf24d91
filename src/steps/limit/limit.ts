import { defer, map, takeWhile } from 'rxjs';
import type { Row } from '../../core/index.js';
import { batchOf, countOf, handling, withBatch, type Page, type Step, type StepContext } from '../../flow/index.js';
import { checkedConfig, builtInStep, stepOf } from '../step.js';

/**
 * Passes the first rows. After the last of them, the stream completes and unsubscribes from the source, which aborts its requests in
 * flight. A context with `stop` ends the source instead; pages under way then arrive empty.
 *
 * @param rows At least 1.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for an invalid number.
 *
 * @example
 * service.leads.pipe(limit(100));
 */
export function limit<T extends Row>(rows: number, context?: StepContext): Step<T, T> {
  return stepOf(limitStep, checkedConfig(limitStep, rows, {}, context), [], context);
}

export const limitStep = builtInStep('limit', {
  summary:
    'Passes the first rows on and stops reading. After a step that needs all rows first, like sort, everything is read, and the first rows of its output pass.',
  config: (z) =>
    z.int().min(1).describe('Number of rows, at least 1. A run that it stops replaces an existing output only with run --allow-partial.'),
  keepsRows: true,
  examples: [100],
  most: (rows) => rows,
  columns: (_, input) => input,
  open:
    (rows, { tally, stop }) =>
    (pages$) =>
      defer(() => {
        let left = rows;
        const limited$ = pages$.pipe(
          map((page) => {
            const count = countOf(page);
            const passed = Math.min(count, left);
            left -= passed;
            tally.beyondLimit += count - passed;
            if (passed === count) return page;
            const kept = batchOf(page).filter((row) => row < passed);
            return withBatch(page, kept);
          }),
        );
        if (!stop) return limited$.pipe(takeWhile(() => left > 0, true));
        // The page goes first, because stopping the source can complete the stream at once.
        const stopping = handling<Page, Page>((page, subscriber) => {
          subscriber.next(page);
          if (left === 0) stop();
        });
        return limited$.pipe(stopping);
      }),
});
