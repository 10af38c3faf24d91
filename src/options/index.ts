export * from './check.js';
export * from './extension.js';
export * from './schema-problems.js';
export * from './settings.js';
