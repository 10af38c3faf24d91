import { readdirSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runPipeline } from '../../../src/run/index.js';
import { generate } from '../../../src/service/index.js';
import { duckdb } from '../../support/duckdb.js';
import { leads, pipelineFor, runIn, service, serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const source = generate({ leads: 703, bridges: 5, links: 5, users: 5, seed: 11 });
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
    expect(report.sinks[0]?.books).toMatchObject({ read: 703, written: 703 });
    expect(await leadsIn(folder)).toEqual(latestFirst(await leadsIn(plain)));
    expect(await readdir(join(stateDir, 'scratch'))).toEqual([]);
  });

  test('sorts the rows that come while it reads, too', async () => {
    const growing = await service(source, { drift: { every: 5, changes: ['insert-tail'], most: 30 } });
    const folder = await temporaryFolder();
    const report = await runIn(growing, `from: leads\nsteps:\n  - sort: { by: [lead_id] }\n${to}`, folder, {
      set: { 'service.limit': '100' },
    });
    const ids = (await leadsIn(folder)).map(({ lead_id }) => lead_id);
    expect(ids.length).toBe(report.read + report.consistency.repaired);
    expect(ids).toEqual(ids.toSorted());
  });
});

test.each([
  ['sort', '{ by: [lead_id] }'],
  ['aggregate', '{ compute: { all: count() } }'],
  ['sql', 'SELECT lead_id FROM rows'],
])('the rejects before %s are stored page by page, not when the first row is written', async (step, config) => {
  const folder = await temporaryFolder();
  const sizes: number[] = [];
  const partial = () => readdirSync(folder).find((name) => name.startsWith('.rejects.ndjson.')) ?? '';
  const page = () => void sizes.push(statSync(join(folder, partial())).size);
  const body = `from: leads\nrejects: { path: rejects.ndjson, rows: true, max: 100% }\nsteps:\n  - cast: { types: { meta: integer } }\n  - ${step}: ${config}\n${to}`;
  const from = await serviceOf({ leads: leads(3_000, () => ({ meta: 'x' })) });
  await runIn(from, body, folder, { watch: { page } });
  expect(sizes.at(-1)).toBeGreaterThan(0);
});

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
  `from: leads\nto:\n  - parquet: { path: lake/leads, row_group_rows: 100, file_max_bytes: 1, ${options} }`;

/** The rows as they stand in the files, with the file and the group that they are in. */
const stored = (folder: string) =>
  duckdb(`select lead_id, epoch(timestamp)::bigint as seconds, campaign_name, filename from read_parquet('${folder}/lake/leads/**/*.parquet',
    filename = true) order by filename, file_row_number`);

/** The bounds that the footers have of a column, by file and row group. */
const boundsOf = (folder: string, column: string) =>
  duckdb(`select file_name, row_group_id, stats_min_value as least, stats_max_value as most, stats_null_count::integer as nulls
    from parquet_metadata('${folder}/lake/leads/**/*.parquet') where path_in_schema = '${column}' order by file_name, row_group_id`);

describe('sort_by with scope: table', () => {
  test('sorts all rows of a table, also beyond its memory, so that row groups do not overlap', async () => {
    const from = await serviceOf({ leads: records });
    const folder = await temporaryFolder();
    const stateDir = join(await temporaryFolder(), 'state');
    const sorting = 'sort_by: { columns: [timestamp desc, campaign_name], scope: table, memory: 32MB }';
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
});
