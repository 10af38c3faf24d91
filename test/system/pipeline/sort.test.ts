import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runPipeline } from '../../../src/pipeline/index.js';
import { generate } from '../../../src/service/index.js';
import { pipelineFor, runIn } from '../../support/pipelines.js';
import { service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const count = 2_503;
const source = generate({ leads: count, bridges: 5, links: 5, users: 5, seed: 11 });
const to = 'to:\n  - ndjson: { path: rows.ndjson }';

interface Lead {
  readonly lead_id: string;
  readonly timestamp: string;
}

async function leadsIn(folder: string): Promise<readonly Lead[]> {
  const text = await readFile(join(folder, 'rows.ndjson'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Lead);
}

/** Latest first, those without a time last, and of one time as they came. */
function latestFirst(leads: readonly Lead[]): readonly Lead[] {
  const secondsOf = ({ timestamp }: Lead) => (timestamp === '' ? -Infinity : Number(timestamp));
  return leads.toSorted((one, other) => {
    const [a, b] = [secondsOf(one), secondsOf(other)];
    return a === b ? 0 : b - a;
  });
}

describe('a pipeline that sorts', () => {
  test('writes rows in their order, beyond its memory too, and keeps nothing of what it put aside', async () => {
    const from = await service(source);
    const [plain, folder, stateDir] = [await temporaryFolder(), await temporaryFolder(), join(await temporaryFolder(), 'state')];
    const set = { 'service.limit': '200' };
    await runIn(from, `from: leads\n${to}`, plain, { set });
    const sorting = await pipelineFor(from, `from: leads\nsteps:\n  - sort: { by: [timestamp desc], memory: 32MB }\n${to}`, folder, set);
    const report = await runPipeline(sorting, { stateDir });
    expect(report.sinks[0]?.books).toMatchObject({ read: count, written: count });
    expect(await leadsIn(folder)).toEqual(latestFirst(await leadsIn(plain)));
    expect(await readdir(join(stateDir, 'scratch'))).toEqual([]);
  });

  test('sorts the rows that come while it reads, too', async () => {
    const growing = await service(source, { drift: { every: 5, changes: ['insert-tail'], most: 30 } });
    const folder = await temporaryFolder();
    const report = await runIn(growing, `from: leads\nsteps:\n  - sort: { by: [lead_id] }\n${to}`, folder, {
      set: { 'service.limit': '500' },
    });
    const ids = (await leadsIn(folder)).map(({ lead_id }) => lead_id);
    expect(ids.length).toBe(report.read + report.consistency.repaired);
    expect(ids).toEqual(ids.toSorted());
  });
});
