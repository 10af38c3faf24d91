import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { collections } from '../../../src/collections/index.js';
import { createClient } from '../../../src/source/index.js';
import { runPipeline } from '../../../src/pipeline/index.js';
import type { ServedTable } from '../../../src/service/index.js';
import { changing } from '../../support/changing.js';
import { pipelineFor, runIn } from '../../support/pipelines.js';
import { service, testKey, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const rows = 237;
/** Identifiers of which JavaScript knows every 2,048th. */
const idOf = (index: number) => String(12345678901234567890n + BigInt(index));

/** Leads as a service sends them that knows numbers; in every second answer records differ in their fields. */
const leads: ServedTable = {
  count: rows,
  row: (index) =>
    `{"lead_id":${idOf(index)},"bridge_id":null,"age":${index},"aff_sub":1.10,"PSID":1e400,"meta":{"z": 1, "a": [9007199254740993, -0]}${index % 200 < 100 ? '' : ',"late":1E5'}}`,
  find: (id) => [Number(BigInt(id) - 12345678901234567890n)],
};

function numbers(options: Parameters<typeof service>[1] = {}): Promise<LoggedService> {
  return service({ ...changing({}), leads }, options);
}

const csv = 'from: leads\nsteps:\n  - dedupe: {}\n  - select: [lead_id, aff_sub, psid, meta]\nto:\n  - csv: { path: out.csv }';
const expected = `lead_id,aff_sub,PSID,meta\n${Array.from({ length: rows }, (_, index) => `${idOf(index)},1.10,1e400,"{""z"":1,""a"":[9007199254740993,-0]}"\n`).join('')}`;

describe('numbers of the service', () => {
  test('reach the file as they were written, and none is taken for another', async () => {
    const folder = await temporaryFolder();
    const report = await runIn(await numbers(), csv, folder);
    expect(report.sinks).toMatchObject([{ books: { read: rows, written: rows, duplicates: 0 } }]);
    expect(report.findings.notText).toMatchObject({ lead_id: rows, aff_sub: rows, meta: rows });
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toBe(expected);
  });

  test.each([
    ['for want of a cap that is known', { quirks: { cap: 30 } }, 'off'],
    ['by passes', {}, 'prove'],
    ['by both', { quirks: { cap: 30 } }, 'prove'],
  ])('are counted once where pages are read again %s', async (_why, options, consistency) => {
    const report = await runIn(await numbers(options), `consistency: ${consistency}\n${csv}`, await temporaryFolder());
    expect(report.findings).toMatchObject({ notText: { lead_id: rows, aff_sub: rows }, missing: { email: rows } });
  });

  test('stay so on pages that an interrupted run has left', async () => {
    const [from, folder] = [await numbers(), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    const stop = new AbortController();
    const stopped = runPipeline(await pipelineFor(from, csv, folder), {
      ...options,
      signal: stop.signal,
      watch: { page: () => stop.abort() },
    });
    await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    const report = await runPipeline(await pipelineFor(from, csv, folder), options);
    expect(report.resumed).toBeGreaterThan(0);
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toBe(expected);
  });

  test('stay so in a single record', async () => {
    const { url } = await numbers();
    const client = createClient({ baseUrl: url, auth: { rest_api_key: testKey } });
    expect(await lastValueFrom(client.reader(collections.leads).find(idOf(7)))).toMatchObject([
      { lead_id: idOf(7), aff_sub: '1.10', psid: '1e400' },
    ]);
    await client.close();
  });
});

test.each(['csv: { path: out.csv }', 'ndjson: { path: out.ndjson }', 'parquet: { path: out }'])(
  'a value nested 100,000 deep is a text like any other: %s',
  async (sink) => {
    const deep = `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`;
    const row = (index: number) => `{"lead_id":"${index}","meta":${index === 1 ? deep : '"x"'}}`;
    const from = await service({ ...changing({}), leads: { count: 3, row, find: () => [1] } });
    const report = await runIn(from, `from: leads\nto:\n  - ${sink}`, await temporaryFolder());
    expect(report.sinks).toMatchObject([{ books: { read: 3, written: 3 } }]);
    const client = createClient({ baseUrl: from.url, auth: { rest_api_key: testKey } });
    expect(await lastValueFrom(client.reader(collections.leads).find('1'))).toMatchObject([{ lead_id: '1', meta: deep }]);
    await client.close();
  },
);
