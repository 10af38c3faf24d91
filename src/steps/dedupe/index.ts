export * from './dedupe.js';
