export { type Expected, fileFault, isStoredAs } from './check.js';
export { type ByteTarget, type Encoding, type ParquetEncoder, type ParquetEngine, type RowGroup } from './engine.js';
export { type EngineAbilities, type EngineName, engineNames, engines } from './engines.js';
export { footerOf } from './footer.js';
export { loadEngine } from './load-engine.js';
export { readGroups } from './read-groups.js';
export { bloomTypes, type Compression, compressions } from './storage.js';
