export * from './exact.js';
export * from './places.js';
export * from './pointer.js';
export * from './read.js';
export * from './tagged.js';
