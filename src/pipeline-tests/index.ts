export type { Difference } from './compare.js';
export { testPipelines, type TestOptions, type TestResult, type TestResults } from './test-pipelines.js';
