export { defaultThreads, Thread, threadFile, warnOfNoThread } from './thread.js';
