/**
 * Published tables of Parquet files: their contents, verification, and earlier runs.
 *
 * @packageDocumentation
 */

export { tableFiles, type TableAccess, type TableFiles } from './lake/index.js';
export { tableRuns, type Manifest, type RunFacts, type TableRun, type UndeclaredField } from './lake/index.js';
export { verifyTable, type Evidence, type Verification, type VerifyOptions } from './lake/index.js';

export { readGroups } from './parquet/index.js';
export { type CompactOptions, compactTable, rollbackTable, type RollbackOptions } from './run/index.js';
