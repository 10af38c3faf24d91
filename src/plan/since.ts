import type { Collection } from '../collections/index.js';
import { getIn } from '../options/index.js';
import { hasPageNumbers } from '../source/index.js';
import type { Problem } from './issues.js';
import type { Chain, ChainShape, PlannedStep } from './plan.js';
import type { PipelineShape } from './spec.js';

/** Steps that make of each row what they make of it in any other read. */
const rowWise: readonly string[] = ['cast', 'derive', 'explode', 'filter', 'join', 'mask', 'rename', 'select'];

/** Whether a step looks at one row at a time. @param isDistinct Whether `dedupe: {}` finds nothing, since the list has each key once. */
export function isRowWise({ definition: { name, version }, config }: Omit<PlannedStep, 'input'>, isDistinct: boolean): boolean {
  const isPlainDedupe = name === 'dedupe' && Object.values(Object(config) as object).every((value) => value === undefined);
  return version === undefined && (isPlainDedupe ? isDistinct : rowWise.includes(name));
}

type Shape = ChainShape & Partial<Pick<PipelineShape, 'consistency' | 'on_duplicate_key'>>;

/** Reports what `since` cannot be combined with: whatever looks at more than the rows that are read, or leaves out earlier ones. */
export function refuseUnfit(shape: Shape, { steps, sinks }: Chain, collection: Collection | undefined, problem: Problem): void {
  const { pages, consistency, on_duplicate_key: duplicates, expect } = shape;
  if (collection && !hasPageNumbers(collection)) problem(['since'], `${collection.name} has no page numbers, which since needs`, true);
  if (pages) problem(['pages'], 'pages and since exclude each other', true);
  if (consistency === 'off' || consistency === 'check') problem(['consistency'], 'since needs consistency: repair, the default, or prove');
  if (duplicates !== undefined) problem(['on_duplicate_key'], 'since cannot compare keys with those of rows that it does not read', true);
  for (const gate of ['min_rows', 'unique'] as const)
    if (expect?.[gate] !== undefined) problem(['expect', gate], 'with since, most rows of the list are not read', true);
  for (const [index, step] of steps.entries()) {
    if (!step || isRowWise(step, true)) continue;
    const message = `since allows ${rowWise.join(', ')}, and dedupe: {}, because other steps need all rows of the list`;
    problem(['steps', index, step.definition.name], message, true);
  }
  for (const { index, definition, config, output } of sinks) {
    const isKept = definition.adds?.(config) === true && getIn(config, ['on_missing']) === 'keep';
    const place = ['to', index, definition.name];
    if (!isKept) problem(place, 'since needs mode: append, or mode: merge with on_missing: keep', true);
    else if (output?.includes('{{')) problem(place, 'since needs a path that is the same in each run', true);
  }
}
