/**
 * Pipeline files: loading, checking, explaining and running them, and measuring the service they read.
 *
 * @packageDocumentation
 */

export { diagnoseService, type DiagnoseOptions, type Diagnosis, type DiagnosisFinding, type Exchange } from './doctor/index.js';

export {
  explainPipeline,
  lintPipelines,
  loadPipeline,
  loadPipelines,
  type Expect,
  type Extensions,
  type Explanation,
  type Finding,
  type LintedPipeline,
  type LintOptions,
  type LintResult,
  type LoadOptions,
  type Pipeline,
  type PipelineFile,
} from './plan/index.js';
export {
  explainRow,
  notifyRefused,
  previewPipeline,
  recoverRuns,
  runPipeline,
  summaryOf,
  type ExplainRowOptions,
  type FindingsReport,
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
  type SinkReport,
  type StepReport,
} from './run/index.js';

export { RateLimiters } from './http/index.js';

export { testPipelines, type Difference, type TestOptions, type TestResult, type TestResults } from './pipeline-tests/index.js';
