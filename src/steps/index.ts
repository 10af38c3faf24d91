import { castStep } from './cast/index.js';
import { dedupeStep } from './dedupe/index.js';
import { deriveStep } from './derive/index.js';
import { filterStep } from './filter/index.js';
import { joinStep } from './join/index.js';
import { maskStep } from './mask/index.js';
import { renameStep } from './rename/index.js';
import { selectStep } from './select/index.js';
import { sortStep } from './sort/index.js';

/** The steps that pipeline files know, by name. */
export const steps = {
  dedupe: dedupeStep,
  derive: deriveStep,
  filter: filterStep,
  join: joinStep,
  select: selectStep,
  rename: renameStep,
  cast: castStep,
  mask: maskStep,
  sort: sortStep,
} as const;

export { cast, type Casted, type CastOptions } from './cast/index.js';
export { dedupe } from './dedupe/index.js';
export { derive, type Derivation } from './derive/index.js';
export { functions as expressionFunctions, type ExpressionFunction } from './expression/index.js';
export { filter } from './filter/index.js';
export { join, type Joined, type JoinOptions, type Pick } from './join/index.js';
export { mask, type Mask, type MaskOptions } from './mask/index.js';
export { rename, type Renamed } from './rename/index.js';
export { select } from './select/index.js';
export { sort, type SortKey, type SortOptions } from './sort/index.js';
export type { ConfigPath, PlanContext, StepDefinition, StepRemark, StepRuntime } from './step.js';
