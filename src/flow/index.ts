export { type BatchReader, blocking, type Collector } from './blocking.js';
export { emptyTally, type Fault, type OnError, standalone, type StepContext, type Tally } from './context.js';
export type { CacheOptions } from './cache.js';
export { deliver } from './deliver.js';
export { halfSipHash, KeyMap, type Seen } from './keys.js';
export { fromPages, givenColumns, pagesOf, type Side } from './from-pages.js';
export { type OpenedStream, RowStream } from './row-stream.js';
export type { RowFormat } from './iterate.js';
export {
  type ColumnsContext,
  type ConfigPath,
  type CountedStep,
  type Link,
  linked,
  type OpenedSource,
  openedStep,
  type Purpose,
  type Reading,
  withNode,
} from './chain.js';
export { mapRows, rows } from './map-rows.js';
export { Drain, handOver, keep } from './lease.js';
export { mapAsync, mapPagesAsync } from './map-async.js';
export { batchOf, countOf, handling, type Lease, type Page, pageOf, type Step, withBatch } from './page.js';
export { type ListEnd, pagedBatches } from './paged-source.js';
export { preload } from './preload.js';
export { failureAt, type KnownRows, namingRow, namingRows, type RowPlace, shownKey } from './row-failure.js';
export {
  columnsNamed,
  declaredColumns,
  DeclaredValues,
  isRow,
  keepRows,
  ofEachRow,
  refusedCondition,
  refusedPromise,
} from './row-function.js';
export type { MadeColumns, MadeOptions, NamedColumns, Refused } from './row-function.js';
export { gather, LookupCache } from './look-ups.js';
export { unlessDry } from './stalled.js';
export { type Ask, task } from './task.js';
