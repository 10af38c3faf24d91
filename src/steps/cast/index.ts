export * from './cast.js';
