export { checkArguments, checkGiven, checkUsage } from './arguments.js';
export { defaults, usual, usually } from './defaults.js';
export { distinct, repeatsIn, standsTwice } from './distinct.js';
export {
  extended,
  type Extension,
  extensionConfig,
  type ExtensionDeclaration,
  extensionOf,
  type OptionsCheck,
  type StandardSchema,
} from './extension.js';
export { getIn, type Issue, issuesOf, keysOf, setIn, wantedAt, wrongKey } from './issues.js';
export { given } from './given.js';
export { bounds, consistencyModes, addressProblem, maxTimerMs } from './bounds.js';
export {
  abortSignal,
  anyList,
  anyObject,
  filledText,
  listOf,
  text,
  callable,
  type Check,
  type Checks,
  type Fault,
  check,
  faultsIn,
  flag,
  judged,
  number,
  numberOrInfinity,
  object,
  oneOf,
  texts,
} from './check.js';
export { callback, judgedBy, optionProblems } from './problems.js';
export { settings, windowHoldsConcurrency, windowTooSmall, type Windowed } from './settings.js';
