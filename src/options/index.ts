export { checkArguments } from './arguments.js';
export { distinct, repeatsIn, standsTwice } from './distinct.js';
export { getIn, type Issue, issuesOf, keysOf, wantedAt, wrongKey } from './issues.js';
export { callback, given, judgedBy, optionProblems } from './problems.js';
export { settings, unlimited, windowHoldsConcurrency } from './settings.js';
