export { connectionFromEnvironment } from './connection.js';
export { type Extensions, extensionsOf, type LoadOptions } from './definitions.js';
export { fileText } from './load.js';
export { explainPipeline, type Explanation } from './explain.js';
export { defaultReadShrink, gatesIn, type Check, type Expect, type Measured } from './expect.js';
export type { Checked } from './check.js';
export type { Hooks } from './hooks.js';
export { lintPipelines, type Finding, type LintedPipeline, type LintOptions, type LintResult } from './load.js';
export {
  loadCheck,
  loadCollections,
  loadPipeline,
  loadPipelines,
  pipelineReference,
  pipelineSchema,
  type PipelineFile,
  writesOver,
} from './load.js';
export { checkPipeline, keyOriginOf, type Pipeline, type RejectsPlan } from './pipeline.js';
export { type Plan, type PlannedSink, type PlannedStep, writtenColumns } from './plan.js';
export { referenceSource, type Environment } from './references.js';
export { bookName, type TestShape } from './spec.js';
export { exceeds, percent, written } from './units.js';
