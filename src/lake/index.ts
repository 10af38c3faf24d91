export type { BegunRun } from './begun-run.js';
export { prepareRollback, publishedManifest, tableRuns, type TableRun } from './history.js';
export { modes, readManifest, type Manifest } from './manifest.js';
export { OpenedRun } from './opened-run.js';
export { runDateColumn, runDateTemplate } from './partitions.js';
export type { Published, RunFacts, UndeclaredField } from './published.js';
export { RunLog, type Evidence } from './run-log.js';
export { Table } from './table.js';
export { verifyTable, type Verification, type VerifyOptions } from './verify.js';
