import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadPipeline } from '../../src/plan/index.js';
import { runPipeline } from '../../src/run/index.js';
import { generate } from '../../src/service/index.js';
import { pipelineText, service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/** Forty pages, one change per ten reads of them. */
const [pages, limit] = [40, 25];
const source = generate({ leads: pages * limit, bridges: 5, links: 5, users: 5, seed: 3 });

async function read(mode: string, seed: number, more = '') {
  const [server, folder] = [await service(source, { drift: { every: 10 }, seed }), await temporaryFolder()];
  const text = pipelineText(`from: leads\nconsistency: ${mode}\n${more}\nto:\n  - ndjson: { path: rows.ndjson }`);
  const set = { 'service.limit': String(limit), 'service.retry.base': '1ms' };
  const report = await runPipeline(await loadPipeline({ text, file: 'p.yaml' }, { env: server.env, baseDir: folder, set }));
  const keys = (await readFile(join(folder, 'rows.ndjson'), 'utf8'))
    .trim()
    .split('\n')
    .map((line): string => JSON.parse(line).lead_id);
  const seen = new Set(keys);
  return { report, keys, lost: [...server.survivors].filter((key) => !seen.has(key)) };
}

describe('a list that changes while it is read', () => {
  test.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'has all rows that were there throughout, under prove (seed %i)',
    async (seed) => {
      const { report, keys, lost } = await read('prove', seed, 'max_passes: 30');
      expect(lost).toEqual([]);
      expect(new Set(keys).size).toBe(keys.length);
      expect(report.consistency).toMatchObject({ outcome: 'proven' });
      expect(report.sinks[0]?.books.written).toBe(keys.length);
    },
  );

  test('is told to have drifted, under check', async () => {
    const reports = await Promise.all([0, 1, 2, 3].map(async (seed) => (await read('check', seed)).report));
    const drifted = reports.filter(({ consistency }) => consistency.outcome === 'drifted');
    expect(drifted.length).toBeGreaterThan(0);
    expect(drifted.every(({ warnings }) => warnings.some(({ code }) => code === 'W_SOURCE_DRIFT'))).toBe(true);
  });

  test('has what was missed added behind it, under repair, and the books say so', async () => {
    const results = await Promise.all([0, 1, 2, 3, 4, 5].map((seed) => read('repair', seed, 'max_passes: 30')));
    const repaired = results.filter(({ report }) => report.consistency.repaired > 0);
    expect(repaired.length).toBeGreaterThan(0);
    for (const { report, keys } of repaired) {
      expect(report.consistency.outcome).toBe('repaired');
      const books = report.sinks[0]?.books;
      expect((books?.read ?? 0) + (books?.repaired ?? 0)).toBe(keys.length + (books?.duplicates ?? 0));
    }
  });

  test('is refused as unstable when passes do not come to an end', async () => {
    await expect(read('prove', 1, 'max_passes: 1')).rejects.toMatchObject({ code: 'E_GATE_CONSISTENCY', exit: 65 });
    const { report } = await read('prove', 1, 'max_passes: 1\nallow_unstable: true');
    expect(report.consistency.outcome).toBe('unstable');
  });
});
