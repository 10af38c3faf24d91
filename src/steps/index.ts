export { aggregate, type Aggregated, type AggregateOptions, type Aggregation, type GroupBy } from './aggregate/aggregate.js';
export { cast, type Casted, type CastOptions } from './cast/cast.js';
export {
  customStepOf,
  defineStep,
  type AddedColumns,
  type CustomStep,
  type CustomStepContext,
  type StepDeclaration,
  type Stepped,
} from './custom.js';
export { dedupe, deduping, type DedupeOptions } from './dedupe/dedupe.js';
export { type Derivation, derive, type WithDerived } from './derive/derive.js';
export { explode, type ExplodeOptions } from './explode/explode.js';
export { functions as expressionFunctions } from './expression/functions.js';
export { zipCity, zipState } from './expression/geography.js';
export { filter } from './filter/filter.js';
export { join, type Joined, type JoinOptions } from './join/join.js';
export { limit } from './limit/limit.js';
export { mask, personalMasks, type Mask, type Masked, type MaskOptions } from './mask/mask.js';
export { loadSteps, type StepDefinitions } from './registry.js';
export { rename, type Renamed } from './rename/rename.js';
export { sample, type SampleOptions } from './sample/sample.js';
export { select } from './select/select.js';
export { Queries, type SortKey } from '../engine/index.js';
export { sort, type SortOptions } from './sort/sort.js';
export { sql, type SqlOptions } from './sql/sql.js';
export type { Lookup, LookupCounts, PlanContext, StepDefinition, StepRemark, StepRuntime } from './step.js';
