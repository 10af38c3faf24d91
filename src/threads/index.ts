export { defaultThreads, threadProblem } from './available.js';
export { Thread } from './thread.js';
