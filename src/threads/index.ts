export { Thread, type Asking } from './thread.js';
