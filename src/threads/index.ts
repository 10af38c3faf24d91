export { defaultThreads, threadFile, warnOfNoThread } from './available.js';
export { Thread } from './thread.js';
