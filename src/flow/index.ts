export { emptyTally, standalone, type Fault, type OnError, type StepContext, type Tally } from './context.js';
export { deliver } from './deliver.js';
export { KeySet } from './key-set.js';
export { filterRows, liftRows, mapRows, rows } from './lift.js';
export { mapAsync } from './map-async.js';
export { withRows, type Lease, type Page, type Step } from './page.js';
export { pagedSource, type PagedSourceOptions } from './paged-source.js';
export { preload } from './preload.js';
