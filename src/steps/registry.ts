import { aggregateStep } from './aggregate/aggregate.js';
import { castStep } from './cast/cast.js';
import { dedupeStep } from './dedupe/dedupe.js';
import { deriveStep } from './derive/derive.js';
import { explodeStep } from './explode/explode.js';
import { loadExpressions } from './evaluation.js';
import { filterStep } from './filter/filter.js';
import { joinStep } from './join/join.js';
import { limitStep } from './limit/limit.js';
import { maskStep } from './mask/mask.js';
import { renameStep } from './rename/rename.js';
import { sampleStep } from './sample/sample.js';
import { selectStep } from './select/select.js';
import { sortStep } from './sort/sort.js';
import { sqlStep } from './sql/sql.js';

export const steps = {
  dedupe: dedupeStep,
  derive: deriveStep,
  filter: filterStep,
  sample: sampleStep,
  join: joinStep,
  explode: explodeStep,
  select: selectStep,
  rename: renameStep,
  cast: castStep,
  mask: maskStep,
  sort: sortStep,
  aggregate: aggregateStep,
  sql: sqlStep,
  limit: limitStep,
} as const;

export type StepDefinitions = typeof steps;

/** Loads what only pipeline files need: the steps, and the evaluation of expressions (CEL). */
export async function loadSteps(): Promise<StepDefinitions> {
  await loadExpressions();
  return steps;
}
