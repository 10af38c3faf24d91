export { Database, type DatabaseOptions, missingDuckdb, type SqlType } from './database.js';
export { defaultMemory, memory, programSpill, scratchFolder, type SpillOptions } from './memory.js';
export { plainCast, sqlTypes, resultOf, sqlValues } from './plain.js';
export { describeQuery, Queries, queryResult, querySetting, type DescribedQuery, type QueryColumn } from './query.js';
export { RowSorter, type SortKey } from './row-sorter.js';
