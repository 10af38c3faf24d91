import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { defineStep, loadPipeline, runPipeline } from '../../../src/index.js';
import { pipelineText, service } from '../../support/services.js';
import { folderWith } from '../../support/temporary.js';

/** Keeps the main thread busy for five milliseconds with the first row of each page. */
const slow = defineStep('slow', {
  open: () => {
    let rows = 0;
    return (row) => {
      rows += 1;
      const end = performance.now() + (rows % 100 === 1 ? 5 : 0);
      while (performance.now() < end);
      return row;
    };
  },
});

test('a report has for each step how long it kept the main thread busy, and not for how long the others did', async () => {
  const from = await service();
  const steps = ['slow', 'filter: lead_id != "0"', 'sort: { by: [lead_id] }']
    .map((step) => `  - ${step}${step === 'slow' ? ':' : ''}\n`)
    .join('');
  const cwd = await folderWith({ 'p.yaml': pipelineText(`from: leads\nsteps:\n${steps}to:\n  - csv: { path: out.csv }`) });
  const pipeline = await loadPipeline('p.yaml', { cwd, env: from.env, steps: [slow], stateDir: join(cwd, '.state') });
  const started = performance.now();
  const { steps: told } = await runPipeline(pipeline);
  const took = performance.now() - started;
  const busy = told.map(({ busyMs }) => busyMs);
  expect(told.map(({ at }) => at)).toEqual(['steps[0] slow', 'steps[1] filter', 'steps[2] sort']);
  expect(busy[0]).toBeGreaterThanOrEqual(12 * 5);
  for (const ms of busy) expect(Number.isInteger(ms)).toBe(true);
  // Times of calls do not overlap.
  expect((busy[0] ?? 0) + (busy[1] ?? 0)).toBeLessThanOrEqual(Math.ceil(took) + 1);
});
