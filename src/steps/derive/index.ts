export * from './derive.js';
