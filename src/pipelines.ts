/**
 * Pipeline files: loading, checking, explaining and running them, and measuring the service they read.
 *
 * @packageDocumentation
 */

export { diagnoseService, type DiagnoseOptions, type Diagnosis, type DiagnosisFinding, type Exchange } from './doctor/index.js';

export {
  explainPipeline,
  explainRow,
  lintPipelines,
  previewPipeline,
  recoverRuns,
  loadCollections,
  loadPipeline,
  loadPipelines,
  parsePipeline,
  parsePipelines,
  pipelineReference,
  pipelineSchema,
  RateLimiters,
  runPipeline,
  summaryOf,
  writesOver,
  type Expect,
  type Extensions,
  extensionsOf,
  type ExplainedColumn,
  type ExplainedRead,
  type ExplainedSink,
  type ExplainedStep,
  type Explanation,
  type ExplainRowOptions,
  type Finding,
  type FindingsReport,
  type LintedPipeline,
  type LintOptions,
  type LintResult,
  type LoadOptions,
  type Pipeline,
  type Preview,
  type PreviewOptions,
  type PreviewStage,
  type RowExplanation,
  type RowField,
  type RowPassage,
  type RunEnd,
  type RunOptions,
  type RunReport,
  type GateResult,
  type FailedRunReport,
  failedRunOf,
  notifyRefused,
  type RefusedOptions,
  type SinkReport,
  type StepReport,
} from './pipeline/index.js';

export { testPipelines, type Difference, type TestOptions, type TestResult, type TestResults } from './pipeline-tests/index.js';
