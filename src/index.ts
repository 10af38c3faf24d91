/** The public API, which the package exports in parts, and what only the command and the tests need. */
export * from './leadstream.js';
export * from './pipelines.js';
export * from './tables.js';
export { catalogue } from './core/index.js';
export { extensionsOf, loadCollections, pipelineReference, pipelineSchema, writesOver } from './plan/index.js';
