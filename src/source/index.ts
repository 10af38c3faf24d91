export { newConsistency, type Consistency, type ConsistencyMode, type ConsistencyOutcome } from './consistency.js';
export { driftOf, refuseUnstable } from './verdict.js';
export { openList } from './list.js';
export type { PagedList, PagingOptions } from './paging.js';
export { otherLimit } from './other-limit.js';
export { readingShape, windowOf, type ReadingOptions } from './options.js';
export { readPages } from './read.js';
