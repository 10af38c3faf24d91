/**
 * Helpers for tests of steps and programs.
 *
 * @packageDocumentation
 */

export { createStallDetector, standalone, type StallDetector } from './flow/index.js';
