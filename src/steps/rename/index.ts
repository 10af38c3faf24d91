export * from './rename.js';
