import { concat, concatMap, defer, finalize, ignoreElements, of, tap } from 'rxjs';
import type { Row } from '../core/index.js';
import { defaults } from '../options/index.js';
import type { RecordBatch } from '../vector/index.js';
import { handOver, keep } from './lease.js';
import type { StepContext } from './context.js';
import { batchOf, type Page, type Step } from './page.js';
import { pagedBatches } from './paged-source.js';

/** The work of a blocking step, which takes all rows before it emits the first. */
export interface Collector {
  /** Takes the rows of a page; one call at a time. The step declares a bound of the memory that this keeps. */
  add(batch: RecordBatch, page: number): Promise<void>;
  finish(): Promise<BatchReader>;
  /** Frees what the step holds, however the stream ends. */
  close(): Promise<void>;
}

/** Returns rows batch by batch; an empty batch at the end. */
export interface BatchReader {
  next(): Promise<RecordBatch>;
}

/** Creates a step that takes all rows first. It releases each page when its rows are taken, and emits pages of its own. */
export function blocking<In extends Row, Out extends Row>(
  { at, rejectsStored }: Pick<StepContext, 'at' | 'rejectsStored'>,
  open: () => Collector,
): Step<In, Out> {
  return (pages$) =>
    defer(() => {
      const collector = open();
      const take = async (page: Page<In>): Promise<void> => {
        await collector.add(batchOf(page), page.number);
        await rejectsStored?.();
        page.lease.release();
      };
      const given$ = defer(() => collector.finish()).pipe(
        concatMap((reader) =>
          pagedBatches<Out>(
            at,
            { firstPage: 1, concurrency: 1, page: () => defer(() => reader.next()), confirm: () => of(undefined) },
            2 * defaults.concurrency,
          ),
        ),
      );
      const consumed$ = pages$.pipe(tap<Page<In>>(keep), concatMap(take), ignoreElements());
      const closed$ = defer(() => collector.close()).pipe(ignoreElements());
      return concat(consumed$, given$.pipe(handOver()), closed$).pipe(finalize(() => void collector.close().catch(() => undefined)));
    });
}
