export { Database, type DatabaseOptions, missingDuckdb, type SqlType } from './database.js';
export { defaultMemory, memory, programSpill, scratchFolder } from './memory.js';
export { plainCast, sqlTypeOf, sqlValues, valueOf } from './plain.js';
export { RowSorter, type SortKey } from './row-sorter.js';
