import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { itemAt } from '../../../src/core/index.js';
import { duckdb } from '../../support/duckdb.js';
import { leads, pipelineFor, runIn } from '../../support/pipelines.js';
import { service, serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

test('explode makes the rows that DuckDB makes of the same lists, and the books say how many it added', async () => {
  const lists = ['["a","b"]', '[]', '', '["c"]', '["d","e","f"]', '["it\'s","\\"g\\""]'];
  const from = await serviceOf({ leads: leads(200, (index) => ({ meta: lists[index % lists.length], aff_sub: 'x, y,,z' })) });
  const folder = await temporaryFolder();
  const steps = (empty: string) => `from: leads
steps:
  - explode: { field: meta, empty: ${empty}, position: n }
  - explode: { field: aff_sub, separator: ',' }
to:
  - parquet: { path: ${empty} }
`;
  const plain = await runIn(from, 'from: leads\nto:\n  - parquet: { path: plain }', folder);
  expect(plain.sinks[0]?.books.written).toBe(200);
  const of = (table: string) => `read_parquet('${join(folder, table)}/*.parquet')`;
  const columns = 'lead_id, meta, n::int as n, aff_sub';
  const unnested = (kind: string) => `
    select ${columns} from (
      select lead_id, item.meta as meta, item.n as n, unnest(list_filter(list_transform(string_split(aff_sub, ','), x -> trim(x)), x -> x <> '')) as aff_sub
      from ${of('plain')} as p ${kind} join lateral (
        select unnest(json_extract_string(nullif(p.meta, ''), '$[*]')) as meta, unnest(range(1, json_array_length(nullif(p.meta, ''))::bigint + 1)) as n
      ) as item on true
    ) order by lead_id::int, n, aff_sub`;
  for (const [empty, kind] of [
    ['keep', 'left'],
    ['drop', 'inner'],
  ] as const) {
    const { books } = itemAt((await runIn(from, steps(empty), folder)).sinks, 0);
    const expected = await duckdb(unnested(kind));
    expect(await duckdb(`select ${columns} from ${of(empty)} order by lead_id::int, n, aff_sub`)).toEqual(expected);
    expect(books.read + books.expanded).toBe(expected.length + books.filtered);
    expect(books.filtered > 0).toBe(empty === 'drop');
  }
});

test('the gate of rejected rows knows the rows that explode made, and rejects name the key of the row that they are of', async () => {
  const from = await serviceOf({ leads: leads(4, () => ({ aff_sub: '1,x,y' })) });
  const body = (most: string) => `from: leads
rejects: { max: ${most} }
steps:
  - explode: { field: aff_sub, separator: ',' }
  - cast: { types: { aff_sub: integer } }
to:
  - csv: { path: out.csv }`;
  const folder = await temporaryFolder();
  expect(await runIn(from, body('67%'), folder)).toMatchObject({ rejects: { rows: 8 } });
  const rejected = (await readFile(join(folder, 'out.csv.rejects.ndjson'), 'utf8')).trim().split('\n');
  expect(rejected.map((line) => JSON.parse(line) as unknown)).toEqual(
    leads(4).flatMap(({ lead_id }) => [expect.objectContaining({ key: { lead_id } }), expect.objectContaining({ key: { lead_id } })]),
  );
  await expect(runIn(from, body('60%'), await temporaryFolder())).rejects.toMatchObject({ message: /8 of 12 rows were rejected/ });
});

test('a table that appends needs a key of its own after explode, which validate says', async () => {
  const from = await serviceOf({ leads: leads(3) });
  const body = (options: string) => `from: leads
steps:
  - explode: { field: meta, position: n, empty: drop }
to:
  - parquet: { path: t, mode: append${options} }
`;
  await expect(pipelineFor(from, body(''), await temporaryFolder())).rejects.toMatchObject({
    code: 'E_SPEC_INVALID',
    message: expect.stringContaining('append needs the key lead_id, but lead_id does not reach the sink unchanged and once per row'),
  });
  await expect(pipelineFor(from, body(', key: [lead_id, n]'), await temporaryFolder())).resolves.toBeDefined();
});

test('a sample has the same rows whatever the size of pages and the requests at once', async () => {
  const from = await service();
  const sampled = async (set: Readonly<Record<string, string>>) => {
    const folder = await temporaryFolder();
    await runIn(from, 'from: leads\nsteps:\n  - sample: { percent: 5 }\nto:\n  - parquet: { path: t }', folder, { set });
    return duckdb(`select lead_id from read_parquet('${join(folder, 't')}/*.parquet') order by all`);
  };
  const first = await sampled({ 'service.limit': '500' });
  expect(first.length).toBeGreaterThan(30);
  expect(first.length).toBeLessThan(90);
  expect(await sampled({ 'service.limit': '70', 'service.concurrency': '2' })).toEqual(first);
});

test('mask: { preset: personal } leaves no personal value in the file, not even joined ones', async () => {
  const rows = leads(20, (index) => ({ email: `p-${index}@x.org`, firstname: `p-${index}`, uid: '7', zipcode: 'p-1', source: 'web' }));
  const from = await serviceOf({ leads: rows, users: [{ uid: '7', email: 'p-u@x.org', affid: '9' }] });
  const folder = await temporaryFolder();
  const body = `from: leads
steps:
  - join: { with: users, on: { uid: uid } }
  - derive: { domain: "email + '!'" }
  - mask: { preset: personal }
to:
  - parquet: { path: t }
`;
  await runIn(from, body, folder);
  const [row] = await duckdb(`select * from read_parquet('${join(folder, 't')}/*.parquet')`);
  expect(row).toMatchObject({ source: 'web', users_affid: '9', uid: '7' });
  expect(JSON.stringify(row)).not.toContain('p-');
});

test('the last seven days are asked by the declared type of the field, whatever the time of day', async () => {
  const midnight = new Date().setUTCHours(0, 0, 0, 0) / 1000;
  const day = (back: number, seconds = 0) => String(midnight - back * 86_400 + seconds);
  const times = [day(8), day(7, -1), day(7), day(3), day(0), ''];
  const from = await serviceOf({ leads: leads(times.length, (index) => ({ timestamp: times[index] })) });
  const folder = await temporaryFolder();
  const report = await runIn(from, 'from: leads\nsteps:\n  - filter: timestamp >= days_before(7)\nto:\n  - parquet: { path: t }', folder);
  expect(report.sinks[0]?.books).toMatchObject({ read: 6, written: 3, filtered: 3 });
  expect(
    await duckdb(`select epoch(timestamp)::bigint::text as t from read_parquet('${join(folder, 't')}/*.parquet') order by lead_id`),
  ).toEqual([day(7), day(3), day(0)].map((t) => ({ t })));
});
