/** The whole public API, for the command and the tests. The package exports its parts separately. */
export * from './leadstream.js';
export * from './pipelines.js';
export * from './tables.js';
