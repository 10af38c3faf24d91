export { type Expected, fileFault, isStoredAs } from './check.js';
export {
  bloomTypes,
  type ByteTarget,
  compressions,
  type Encoding,
  type EngineAbilities,
  type EngineName,
  engines,
  type ParquetEncoder,
  type ParquetEngine,
  type RowGroup,
} from './encoder.js';
export { footerOf } from './footer.js';
export { loadEngine } from './load-engine.js';
export { readGroups } from './read-groups.js';
