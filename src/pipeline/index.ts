export type { Books } from './books.js';
export { connect, type ConnectOptions, type ReadOptions, type Service } from './connect.js';
export { connectionFromEnvironment, loadPipeline, parsePipeline, type LoadOptions, type Pipeline } from './pipeline.js';
export { land, type Landed, type LandOptions } from './land.js';
export { pipelineReference, pipelineSchema } from './reference.js';
export type { Environment } from './references.js';
export { summaryOf, type FindingsReport, type RunReport, type SinkReport } from './report.js';
export { finishRuns, runPipeline, type Progress, type RunOptions } from './run.js';
export { rollbackTable, type RollbackOptions } from './rollback.js';
