/**
 * Pipeline files: loading, checking and running them.
 *
 * @packageDocumentation
 */

export { loadPipeline, loadPipelines, type Extensions, type LoadOptions, type PipelineFile } from './plan/index.js';
export type { Expect, Pipeline } from './plan/index.js';
export { lintPipelines, type Finding, type LintedPipeline, type LintOptions, type LintResult } from './plan/index.js';
export { TableSets } from './lake/index.js';
export { runPipeline, failedRunOf } from './run/index.js';
export type { FindingsReport, RunOptions, RunReport, GateResult, FailedRunReport, SinkReport, StepReport } from './run/index.js';
