/**
 * Helpers for tests of steps and programs.
 *
 * @packageDocumentation
 */

export { standalone } from './flow/index.js';
