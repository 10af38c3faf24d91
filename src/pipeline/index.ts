export { RateLimiters } from '../http/index.js';
export type { Expect } from './gates/expect.js';
export {
  explainPipeline,
  type ExplainedColumn,
  type ExplainedRead,
  type ExplainedSink,
  type ExplainedStep,
  type Explanation,
} from './ops/explain.js';
export { explainRow, type ExplainRowOptions, type RowExplanation, type RowField, type RowPassage } from './ops/explain-row.js';
export { previewPipeline, type Preview, type PreviewOptions, type PreviewStage } from './ops/preview.js';
export { recoverRuns } from './ops/recover.js';
export { loadTests, type PipelineTest, type TestedPipeline, type TextRow } from './ops/tested.js';
export type { GateResult } from './gates/result.js';
export { writeTo, type Written, type WriteOptions } from './ops/write-to.js';
export { type RollbackOptions, rollbackTable } from './ops/rollback.js';
export { type FailedRunReport, failedRunOf } from './run/failed-run.js';
export { notifyRefused, type RefusedOptions } from './run/notify.js';
export { type FindingsReport, type RunReport, type SinkReport, type StepReport, summaryOf } from './run/report.js';
export type { RowCounts } from '../core/index.js';
export type { RunEnd, RunOptions } from './run/run-options.js';
export { runPipeline } from './run/run.js';
export { type Extensions, extensionsOf, type LoadOptions } from './spec/definitions.js';
export { connectionFromEnvironment } from './spec/connection.js';
export { lintPipelines, type Finding, type LintedPipeline, type LintOptions, type LintResult } from './spec/lint.js';
export {
  loadCollections,
  loadPipeline,
  loadPipelines,
  parsePipeline,
  parsePipelines,
  pipelineReference,
  pipelineSchema,
  writesOver,
} from './spec/load.js';
export type { Pipeline } from './spec/pipeline.js';
export { bookName } from './spec/test-shape.js';
export type { Environment } from './spec/reference-source.js';
