import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parsePipeline, runPipeline } from '../../../src/pipeline/index.js';
import { duckdb } from '../../support/duckdb.js';
import { leads, pipelineFor, runIn } from '../../support/pipelines.js';
import { pipelineText, serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const count = 1_503;
const words = ['Zoë', '', 'Ａ', '😀', 'a', 'B', 'é'];
const records = leads(count, (index) => ({
  campaign_name: words[(index * 31) % words.length],
  timestamp: index % 9 === 0 ? '' : String(1_700_000_000 + ((index * 7_919) % 1_009)),
  lead_status: ['sold', 'open'][index % 2],
  meta: 'x'.repeat(600),
}));
const set = { 'service.limit': '500' };

const bodyOf = (options: string) =>
  `from: leads\nto:\n  - parquet: { path: lake/leads, row_group_rows: 100, file_max_rows: 400, ${options} }`;

/** The rows as they stand in the files, with the file and the group that they are in. */
const stored = (folder: string) =>
  duckdb(`select lead_id, epoch(timestamp)::bigint as seconds, campaign_name, filename from read_parquet('${folder}/lake/leads/**/*.parquet',
    filename = true) order by filename, file_row_number`);

/** The bounds that the footers have of a column, by file and row group. */
const boundsOf = (folder: string, column: string) =>
  duckdb(`select file_name, row_group_id, stats_min_value as least, stats_max_value as most, stats_null_count::integer as nulls
    from parquet_metadata('${folder}/lake/leads/**/*.parquet') where path_in_schema = '${column}' order by file_name, row_group_id`);

describe('sort_by with scope: table', () => {
  test.each([
    ['within its memory', '256MB'],
    ['beyond it', '32MB'],
  ])('sorts all rows of a table, so that row groups do not overlap, %s', async (_where, memory) => {
    const from = await serviceOf({ leads: records });
    const folder = await temporaryFolder();
    const stateDir = join(await temporaryFolder(), 'state');
    const sorting = `sort_by: { columns: [timestamp desc, campaign_name], scope: table, memory: ${memory} }`;
    const report = await runPipeline(await pipelineFor(from, bodyOf(sorting), folder, set), { stateDir });
    expect(report.sinks[0]?.books).toMatchObject({ read: count, written: count });
    const expected = await duckdb(`select lead_id, epoch(timestamp)::bigint as seconds, campaign_name
      from read_parquet('${folder}/lake/leads/*.parquet') order by seconds desc nulls last, campaign_name, lead_id::integer`);
    const got = await stored(folder);
    expect(got.map(({ filename: _file, ...row }) => row)).toEqual(expected);
    const groups = await boundsOf(folder, 'timestamp');
    expect(groups.length).toBe(16);
    const full = groups.filter(({ nulls }) => nulls === 0);
    full.slice(1).forEach((group, index) => expect(String(group.most) <= String(full[index]?.least)).toBe(true));
    expect(await readdir(join(stateDir, 'scratch')).catch(() => [])).toEqual([]);
  });

  test('gives the same files whatever its memory', async () => {
    const from = await serviceOf({ leads: records });
    const [one, other] = [await temporaryFolder(), await temporaryFolder()];
    const sorting = (memory: string) => bodyOf(`sort_by: { columns: [campaign_name desc], scope: table, memory: ${memory} }`);
    const digests = async (folder: string, memory: string) => {
      await runIn(from, sorting(memory), folder, { set });
      const files = await readdir(join(folder, 'lake', 'leads'));
      const bytes = await Promise.all(files.toSorted().map((name) => readFile(join(folder, 'lake', 'leads', name))));
      return bytes.map((each) => createHash('sha256').update(each).digest('hex'));
    };
    expect(await digests(other, '32MB')).toEqual(await digests(one, '256MB'));
  });

  test('sorts every partition', async () => {
    const from = await serviceOf({ leads: records });
    const folder = await temporaryFolder();
    await runIn(from, bodyOf('partition_by: [lead_status], sort_by: { columns: [timestamp], scope: table, memory: 32MB }'), folder, {
      set,
    });
    const got = await stored(folder);
    expect(got).toHaveLength(count);
    for (const status of ['sold', 'open']) {
      const seconds = got
        .filter(({ filename }) => String(filename).includes(`lead_status=${status}`))
        .map((row) => (row.seconds === null ? Infinity : Number(row.seconds)));
      expect(seconds.length).toBeGreaterThan(count / 3);
      expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
    }
  });

  test('writes an empty table for no rows, and leaves nothing when it is stopped', async () => {
    const folder = await temporaryFolder();
    const sorting = bodyOf('sort_by: { columns: [timestamp], scope: table }');
    const report = await runIn(await serviceOf({ leads: [] }), sorting, folder, { set });
    expect(report.sinks[0]?.books).toMatchObject({ written: 0 });
    const stopped = await temporaryFolder();
    const controller = new AbortController();
    const running = runIn(await serviceOf({ leads: records }), sorting, stopped, {
      set,
      signal: controller.signal,
      watch: { finish: { start: () => controller.abort() } },
    });
    await expect(running).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(await readdir(stopped)).toEqual([]);
  });

  test.each([
    ['mode: append, sort_by: { columns: [uid], scope: table }', 'mode: append keeps the files of earlier runs as they are'],
    ['sort_by: { columns: [uid], memory: 4MB }', 'memory needs scope: table'],
    ['sort_by: { columns: [uidd], scope: table }', "unknown column 'uidd', did you mean 'uid'?"],
    ['sort_by: { columns: [uidd] }', "unknown column 'uidd', did you mean 'uid'?"],
    ['sort_by: { columns: [uid, uid desc] }', "'uid' is listed twice"],
    ['sort_by: { columns: [], scope: table }', 'Too small'],
    ['sort_by: { columns: [uid], scope: file }', 'scope: Invalid option'],
    ['sort_by: { columns: [uid], scope: table, memory: 5MB }', 'must be at least 32MB'],
    ['sort_by: { scope: table }', 'columns'],
  ])('refuses %s', async (options, message) => {
    const env = { LEADSTREAM_BASE_URL: 'http://localhost:1', LEADSTREAM_REST_API_KEY: 'no request is sent' };
    const checked = parsePipeline(pipelineText(bodyOf(options)), 'p.yaml', { env, baseDir: '/tmp' });
    await expect(checked).rejects.toMatchObject({ message: expect.stringContaining(message) });
    await expect(checked).rejects.toMatchObject({ message: expect.stringMatching(/p\.yaml:9:/) });
  });
});
