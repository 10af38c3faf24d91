export { openLanding, type Landing, type LandingOptions } from './landing.js';
export type { LandedSource } from './source.js';
export { sweepLandings } from './sweep.js';
