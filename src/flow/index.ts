export { type BatchReader, blocking, type Collector } from './blocking.js';
export { emptyTally, type Fault, type OnError, standalone, type StepContext, type Tally } from './context.js';
export type { CacheOptions } from './cache.js';
export { deliver } from './deliver.js';
export { Drain } from './drain.js';
export { gather } from './gather.js';
export { halfSipHash } from './half-sip-hash.js';
export { KeyMap } from './key-map.js';
export { KeySet, type Seen } from './key-set.js';
export {
  fromPages,
  type OpenedSource,
  type OpenedStream,
  pagesOf,
  type Purpose,
  type RowSource,
  RowStream,
  type Side,
} from './row-stream.js';
export type { RowFormat } from './iterate.js';
export { type ColumnsContext, type ConfigPath, factsOf, type StepFacts, withFacts } from './step-facts.js';
export { filterRows, liftRows, mapRows, rows } from './lift.js';
export { keepRows } from './keep-rows.js';
export { handOver, keep } from './lease.js';
export { mapAsync, mapPagesAsync } from './map-async.js';
export { batchOf, countOf, isPage, type Lease, type Page, pageOf, type Step, withBatch } from './page.js';
export { type ListEnd, pagedBatches, pagedSource, type PagedSourceOptions, rowsAfterEnd } from './paged-source.js';
export { preload } from './preload.js';
export { isPromise, type KnownRows, namingRows, ofEachRow, refusedRow } from './row-function.js';
export { createStallDetector, type StallDetector } from './stall-detector.js';
export { Recent } from './recent.js';
export { type Ask, task } from './task.js';
