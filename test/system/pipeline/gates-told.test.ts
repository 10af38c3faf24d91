import { describe, expect, test } from '@jest/globals';
import { failedRunOf, runPipeline } from '../../../src/index.js';
import { pipelineFor } from '../../support/pipelines.js';
import { service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const body = `from: leads
steps:
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title], min_match: 10% }
to:
  - csv: { path: leads.csv }
expect: { min_rows: MIN, not_null: [lead_id] }`;

const gatesOf = (gates: readonly { gate: string; at: string | undefined; outcome: string }[]) =>
  gates.map(({ gate, at, outcome }) => `${gate}${at === undefined ? '' : ` of ${at}`}: ${outcome}`);

describe('the gates of a run', () => {
  test('are in the report of one that published', async () => {
    const report = await runPipeline(await pipelineFor(await service(), body.replace('MIN', '1'), await temporaryFolder()));
    expect(gatesOf(report.gates)).toEqual([
      'consistency of leads: passed',
      'consistency of steps[0] join: passed',
      'max_read_shrink of leads: not compared',
      'max_read_shrink of steps[0] join: not compared',
      'books of to[0] csv: passed',
      'min_match of steps[0] join: passed',
      'rejects: passed',
      'expect.min_rows: passed',
      'expect.not_null.lead_id: passed',
    ]);
  });

  test.each(['from: leads\nsteps: [{ limit: 10 }]', 'from: leads\nconsistency: off'])(
    'say that nobody looked whether the list changed: %j',
    async (source) => {
      const report = await runPipeline(
        await pipelineFor(await service(), `${source}\nto: [{ csv: { path: a.csv } }]`, await temporaryFolder()),
      );
      expect(gatesOf(report.gates)).toContain('consistency of leads: not checked');
    },
  );

  test('are in the report of one that they refused, with what they have against it, and its books', async () => {
    const pipeline = await pipelineFor(await service(), body.replace('MIN', '5000'), await temporaryFolder());
    const failure = await runPipeline(pipeline).then(
      () => undefined,
      (error: unknown) => error,
    );
    const report = failedRunOf(failure);
    expect(report?.gates.filter(({ outcome }) => outcome === 'refused')).toEqual([
      {
        gate: 'expect.min_rows',
        at: undefined,
        outcome: 'refused',
        violations: [{ code: 'E_GATE_EXPECT', message: 'expect.min_rows: expected at least 5,000 rows, found 1,200' }],
      },
    ]);
    expect(report).toMatchObject({ read: 1_200, keptPages: 0, sinks: [{ books: { written: 1_200 } }] });
  });

  test('are not in the report of one that failed before them, which says how far it came', async () => {
    const from = await service(undefined, { faults: ['400@collection=leads,page=5-'] });
    const failure = await runPipeline(await pipelineFor(from, body.replace('MIN', '1'), await temporaryFolder())).then(
      () => undefined,
      (error: unknown) => error,
    );
    const report = failedRunOf(failure);
    expect(report?.gates).toEqual([]);
    expect(report?.keptPages).toBeGreaterThan(0);
  });
});
