export { sha256File } from './digest.js';
export { attempt, errnoOf } from './failure.js';
export { makeFolders, removeFolders, syncFolder } from './folders.js';
export { PartialFile } from './partial-file.js';
export { publish, type Move } from './publish.js';
export { reserveFile } from './reserve.js';
