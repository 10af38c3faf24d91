export { prepareRollback, publishedManifest, tableRuns, type TableRun } from './history.js';
export { modes, readManifest, type Manifest } from './manifest.js';
export { runDateColumn, runDateTemplate } from './partitions.js';
export type { Published, RunFacts, UndeclaredField } from './published.js';
export { RunLog, type Evidence } from './run-log.js';
export { Table } from './table.js';
export { OpenedRun, type BegunRun } from './table-run.js';
export { verifyTable, type Verification, type VerifyOptions } from './verify.js';
