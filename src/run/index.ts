export { traceRow, type RowExplanation, type RowField, type RowPassage } from './explain-row.js';
export { extraStep, type Stage } from './observed.js';
export { previewPipeline } from './preview.js';
export { writeTo, type Written, type WriteOptions } from './write-to.js';
export { type CompactOptions, compactTable, recoverRuns, type RollbackOptions, rollbackTable } from './state.js';
export * from './report.js';
export type { RunOptions } from './start.js';
export { runPipeline } from './run.js';
