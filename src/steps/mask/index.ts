export * from './mask.js';
