export { prepareRollback, tableRuns, type TableRun } from './history.js';
export { modes, type Manifest, type Published, type RunFacts, type UndeclaredField } from './manifest.js';
export { runDateColumn } from './partitions.js';
export { LinkedRun } from './linked-run.js';
export { OpenedRun } from './run.js';
export { RunLog, type Evidence } from './run-log.js';
export { Table } from './table.js';
export { verifyTable, type Verification, type VerifyOptions } from './verify.js';
