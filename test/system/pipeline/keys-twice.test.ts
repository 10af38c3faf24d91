import { describe, expect, test } from '@jest/globals';
import { explainRow, previewPipeline, runPipeline } from '../../../src/index.js';
import { pipelineFor } from '../../support/pipelines.js';
import { serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const lists = {
  leads: [{ lead_id: '1', bridge_id: '12' }],
  bridges: [
    { id: '12', title: 'A' },
    { id: '12', title: 'B' },
    { id: '13', title: 'C' },
  ],
};

const bodyWith = (more: string, pick = '') =>
  `from: leads${more}\nsteps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title]${pick} }\nto: [{ csv: { path: a.csv } }]`;

describe('the other side of a join, of which a key came twice', () => {
  test.each([
    ['', '', ['A']],
    ['', ', pick: all', ['A']],
    ['\nconsistency: off', ', pick: all', ['A', 'B']],
  ])('is the same in a run, its preview and the explanation of a row: %j %j', async (more, pick, titles) => {
    const pipeline = await pipelineFor(await serviceOf(lists), bodyWith(more, pick), await temporaryFolder());
    expect((await runPipeline(pipeline)).sinks[0]?.total).toBe(titles.length);
    const { stages, failure } = await previewPipeline(pipeline);
    expect(failure).toBeUndefined();
    expect(stages.at(-1)?.rows.map(({ b_title }) => b_title)).toEqual(titles);
    const { steps } = await explainRow(pipeline, ['1']);
    expect(steps.map(({ outcome, rows }) => [outcome, rows.length])).toEqual([['passed', titles.length]]);
  });

  test('and so is the list itself', async () => {
    const twice = { ...lists, leads: [...lists.leads, { lead_id: '1', bridge_id: '13' }, { lead_id: '2', bridge_id: '13' }] };
    const pipeline = await pipelineFor(await serviceOf(twice), bodyWith('', ', pick: first'), await temporaryFolder());
    expect((await runPipeline(pipeline)).sinks[0]?.total).toBe(2);
    expect((await previewPipeline(pipeline)).stages.at(-1)?.rows.map(({ lead_id }) => lead_id)).toEqual(['1', '2']);
  });

  test('fails all of them where nobody chooses among several', async () => {
    const pipeline = await pipelineFor(await serviceOf(lists), bodyWith('\nconsistency: off'), await temporaryFolder());
    await expect(runPipeline(pipeline)).rejects.toMatchObject({ code: 'E_STEP_MATCHES' });
    expect(await explainRow(pipeline, ['1'])).toMatchObject({ steps: [{ outcome: 'failed' }], failure: { code: 'E_STEP_MATCHES' } });
  });
});
