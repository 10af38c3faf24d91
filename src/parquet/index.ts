export { type Expected, fileFault, footerOf, isStoredAs } from './check.js';
export { type ByteTarget, compressions, type Encoding, type ParquetEncoder, type ParquetEngine, type RowGroup } from './engine.js';
export { engineNames, engines, loadEngine } from './engines.js';
export { readGroups } from './read-groups.js';
