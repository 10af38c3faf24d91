export {
  type Action,
  type Commit,
  commitUnlogged,
  type LinkAction,
  prepareCommit,
  type PreparedCommit,
  type RenameAction,
} from './commit.js';
export { DiskObjects } from './disk-objects.js';
export * from './failure.js';
export * from './files.js';
export { inTurn, type RunLock, lockOutputs, lockOwn } from './lock.js';
export * from './objects.js';
export * from './objects-at.js';
export * from './output-file.js';
export * from './own.js';
export * from './partial-file.js';
export * from './paths.js';
export * from './redo-log.js';
export { missingSDK, type StoreSettings } from './s3.js';
export * from './scratch.js';
