export { firstStart } from './first-start.js';
export { openLanding, type Landing, type LandingOptions } from './landing.js';
export type { LandedSource } from './source.js';
export { removeLanding, sweepLandings } from './sweep.js';
