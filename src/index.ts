/** All that a program may use, for the command and the tests. The package exports its parts by themselves. */
export * from './leadstream.js';
export * from './pipelines.js';
export * from './tables.js';
