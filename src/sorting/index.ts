export { defaultMemory, memory, scratchFolder, spilledBeyond } from './memory.js';
export type { Run } from './merge.js';
export { type Keys, Order, type SortKey } from './order.js';
export { RowSorter } from './row-sorter.js';
export { pageRows, Runs, type RunsOptions } from './runs.js';
