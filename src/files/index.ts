export { sha256File } from './digest.js';
export { attempt, errnoOf } from './failure.js';
export { makeFolders, removeFolders, syncFolder } from './folders.js';
export { finishIntents, removeIntent, writeIntent, type FinishedIntent, type FinishOptions, type Intent } from './intent.js';
export { lockOutputs, type Lock, type LockOptions } from './lock.js';
export { PartialFile } from './partial-file.js';
export { publish, type Move } from './publish.js';
export { replaceFile, temporaryEnding, type ReplaceOptions } from './replace.js';
export { reserveFile } from './reserve.js';
