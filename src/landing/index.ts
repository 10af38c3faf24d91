export { landedSince } from './landed-since.js';
export { openLanding, type Landing, type LandingOptions } from './landing.js';
export { inState } from './place.js';
export { accountKey, countedName, type LandedSource } from './source.js';
export { removeLanding, sweepLandings } from './sweep.js';
