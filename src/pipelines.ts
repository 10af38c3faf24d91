/**
 * Pipeline files: loading, checking and running them.
 *
 * @packageDocumentation
 */

export {
  lintPipelines,
  loadPipeline,
  loadPipelines,
  type Expect,
  type Extensions,
  type Finding,
  type LintedPipeline,
  type LintOptions,
  type LintResult,
  type LoadOptions,
  type Pipeline,
  type PipelineFile,
} from './plan/index.js';
export { TableSets } from './lake/index.js';
export {
  runPipeline,
  type FindingsReport,
  type RunOptions,
  type RunReport,
  type GateResult,
  type FailedRunReport,
  failedRunOf,
  type SinkReport,
  type StepReport,
} from './run/index.js';
