/**
 * What tests of steps and of programs want.
 *
 * @packageDocumentation
 */

export { createStallDetector, standalone, type StallDetector } from './flow/index.js';
