import { getIn } from '../options/index.js';
import { hasPageNumbers } from '../source/index.js';
import { runTemplate } from '../store/index.js';
import type { Pipeline } from './pipeline.js';
import { isRowWise } from './since.js';

/** Returns why several processes cannot share a run, as a sentence, if they cannot: what looks at more than one row needs all of them. */
export function whyNotSharded(pipeline: Omit<Pipeline, 'hooks'>): string | undefined {
  const { plan, expect, consistency } = pipeline;
  const { collection, steps, sinks } = plan;
  const step = steps.find((each, index) => !isRowWise(each, index === 0));
  const sink = sinks.find(({ definition, config, output = '' }) => {
    const isFit =
      ['replace', 'replace_partitions'].includes(String(getIn(config, ['mode']))) && getIn(config, ['sort_by', 'scope']) !== 'table';
    return definition.name !== 'parquet' || !isFit || output.includes(runTemplate);
  });
  const reasons: readonly (readonly [applies: boolean, why: string])[] = [
    [!hasPageNumbers(collection), `${collection.name} has no page numbers`],
    [step !== undefined, `${step?.at} needs all rows`],
    [sink !== undefined, `${sink?.at} is no table with mode: replace or replace_partitions, a path that stays, and an order of row groups`],
    [pipeline.together !== undefined, 'it is published together with others'],
    [pipeline.since !== undefined || pipeline.pages !== undefined, 'it reads a part of the list'],
    [consistency.mode === 'off' || consistency.mode === 'prove', `consistency: ${consistency.mode} is for one process`],
    [pipeline.onDuplicateKey !== undefined, 'on_duplicate_key compares all rows'],
    [pipeline.onNewField === 'restart', 'on_new_field: restart reads again'],
    [expect?.unique !== undefined, 'expect.unique compares all rows'],
  ];
  return reasons.find(([applies]) => applies)?.[1];
}
