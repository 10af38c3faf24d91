/**
 * Published tables of Parquet files: their contents, verification, and earlier runs.
 *
 * @packageDocumentation
 */

export {
  tableFiles,
  tableRuns,
  type TableAccess,
  type TableFiles,
  verifyTable,
  type Manifest,
  type RunFacts,
  type TableRun,
  type Verification,
  type VerifyOptions,
  type Evidence,
  type UndeclaredField,
} from './lake/index.js';

export { readGroups } from './parquet/index.js';
export { type CompactOptions, compactTable, rollbackTable, type RollbackOptions } from './run/index.js';
