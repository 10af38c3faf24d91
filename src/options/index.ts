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
export { bounds, consistencyModes, addressProblem, maxTimerMs } from './bounds.js';
export {
  abortSignal,
  anyObject,
  callable,
  check,
  type Check,
  type Checks,
  checkGiven,
  checkUsage,
  faultsIn,
  filledText,
  flag,
  judged,
  kindOf,
  listOf,
  number,
  numberOrInfinity,
  object,
  oneOf,
  text,
  texts,
} from './check.js';
export { callback, checkArguments, getIn, schemaProblems, setIn } from './schema-problems.js';
export { settings, windowHoldsConcurrency, windowTooSmall, type Windowed } from './settings.js';
