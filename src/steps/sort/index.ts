export { sort, sortStep, type SortKey, type SortOptions } from './sort.js';
