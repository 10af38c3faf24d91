export { defaultThreads, threadProblem } from './available.js';
export { Thread, type Asking } from './thread.js';
