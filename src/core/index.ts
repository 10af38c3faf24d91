export * from './catalogue.js';
export * from './columns.js';
export * from './counts.js';
export * from './errors.js';
export * from './objects.js';
export * from './package.js';
export * from './presence.js';
export * from './text.js';
