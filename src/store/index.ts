export { attempt, errnoOf, reworded, unlessMissing } from './failure.js';
export {
  linked,
  makeFolders,
  notOurFolder,
  refuseLinks,
  removeFile,
  removeFolders,
  removeTemporaries,
  replaceFile,
  sha256File,
  syncFolder,
  temporaryEnding,
} from './files.js';
export type { LinkAction, RenameAction } from './local-disk/actions.js';
export { PartialFile } from './local-disk/partial-file.js';
export { inTurn, type Lock, lockOutputs, lockOwn } from './lock.js';
export { isPrivate, makePrivate, makeState, openOwn, openRegular, readOwn, readRegular } from './own.js';
export { forgetCommit, logCommit, type LoggedCommit, recoverCommits } from './redo-log.js';
export { ScratchFile, ScratchFolder } from './scratch.js';
export {
  commitUnlogged,
  dayTemplate,
  filledPath,
  fixedPath,
  overlap,
  pathProblem,
  type PathNames,
  runTemplate,
  storeOf,
  tableProblem,
} from './stores.js';
export type { Action, Commit, OutputFile, PreparedCommit, Store } from './store.js';
