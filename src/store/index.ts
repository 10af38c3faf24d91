export {
  type Action,
  type Commit,
  commitUnlogged,
  type LinkAction,
  prepareCommit,
  type PreparedCommit,
  type RenameAction,
} from './commit.js';
export { attempt, errnoOf, isLocked, reworded, unlessMissing } from './failure.js';
export {
  closing,
  jsonIn,
  linked,
  makeFolders,
  notOurFolder,
  openTo,
  refuseLinks,
  removeFile,
  removeFolders,
  removeTemporaries,
  replaceFile,
  sha256File,
  sha256Text,
  syncFolder,
  temporaryEnding,
  temporaryName,
} from './files.js';
export { inTurn, type Lock, lockOutputs, lockOwn } from './lock.js';
export { decided, lostTo, ownFolder, writeOnce } from './objects.js';
export type { FileContent, FinishedFile, ObjectBody, ObjectStore, ObjectStores } from './objects.js';
export { checkStore, objectsAt, Stores } from './objects-at.js';
export { type OutputFile, openOutput, type OutputFileOptions } from './output-file.js';
export { isPrivate, makePrivate, makeState, openOwn, openRegular, readOwn, readRegular } from './own.js';
export { PartialFile, reserveFile } from './partial-file.js';
export {
  absolutePath,
  dayTemplate,
  filledPath,
  fixedPath,
  fixedPlace,
  isOccupied,
  isRemote,
  overlap,
  pathProblem,
  type PathNames,
} from './paths.js';
export { refuseInTable, runsOf, runTemplate } from './paths.js';
export { forgetCommit, logCommit, type LoggedCommit, recoverCommits } from './redo-log.js';
export { missingSDK, type StoreSettings } from './s3.js';
export { ScratchFile, ScratchFolder } from './scratch.js';
