/** The public API, which the package exports in parts, and what only the command and the tests need. */
export * from './leadstream.js';
export * from './pipelines.js';
export * from './tables.js';
export { catalogue } from './core/index.js';
export { RateLimiters } from './http/index.js';
export { RestCatalog } from './lake/index.js';
export { prepareFetching } from './source/index.js';
export { duration, explainPipeline, extensionsOf, listsOf, loadCollections, pipelineReference } from './plan/index.js';
export { pipelineSchema, writesOver, type Explanation } from './plan/index.js';
export { committed, openCommit, openShard, planShards } from './shards/index.js';
export { standaloneSink } from './sinks/index.js';
export { traceRow, previewPipeline, recoverRuns, summaryOf } from './run/index.js';
export type { RowExplanation, RowField, RowPassage, Stage } from './run/index.js';
