export { traceRow, type RowExplanation, type RowPassage } from './explain-row.js';
export { extraStep, previewPipeline, type RowField, type Stage } from './observed.js';
export { writeTo, type Written, type WriteOptions } from './write-to.js';
export { type CompactOptions, compactTable, StateFolder, recoverRuns, type RollbackOptions, rollbackTable } from './state.js';
export * from './report.js';
export type { RunOptions } from './start.js';
export type { Ledger } from './ledger.js';
export { countsOf, type GatheredPart, type RunPart } from './part.js';
export { runPipeline } from './run.js';
