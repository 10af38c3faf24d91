export * from './definition.js';
export { join, type Joined, type JoinOptions } from './join.js';
export type { Pick } from './pick.js';
