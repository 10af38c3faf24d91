import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { tableFiles, tableRuns, verifyTable } from '../../../src/lake/index.js';
import { compactTable, type RunReport } from '../../../src/run/index.js';
import { summaryOf } from '../../../src/run/report.js';
import { duckdb } from '../../support/duckdb.js';
import { all, idsWithout, type Lead, mergedOf, Nights, otherKey, type Served, without } from '../../support/nights.js';
import { lead, leads, pipelineFor, serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const merging = (more = '', steps = '', head = '') =>
  `from: leads\n${head}\n${steps === '' ? '' : `steps:\n${steps}\n`}to:\n` +
  `  - parquet: { path: t, mode: merge, on_missing: delete, max_deleted: 20%${more} }`;

async function nightsOf(list: readonly Lead[], body = merging()): Promise<Nights> {
  const nights = await Nights.of({
    body: merging(),
    ids: (folder) => duckdb(`SELECT lead_id::int AS id FROM read_parquet('${folder}/t/**/*.parquet') ORDER BY id`),
    check: async (folder) => expect((await verifyTable(join(folder, 't'))).differences).toEqual([]),
  });
  await nights.run({ list }, body);
  return nights;
}

/** The current files of a table, as SQL. */
async function tableOf({ folder }: Nights): Promise<string> {
  const { files } = await tableFiles(join(folder, 't'));
  return `read_parquet([${files.map((file) => `'${file}'`).join()}], union_by_name = true)`;
}

const filtering = (status: string) => merging('', `  - filter: "lead_status != '${status}'"`);
const warned = ({ warnings }: RunReport) => warnings.filter(({ code }) => code === 'W_SINK_KEPT').map(({ message }) => message);

const marking = (more = '', steps = '') => merging(more, steps).replace('on_missing: delete', 'on_missing: mark');

describe('on_missing: delete', () => {
  test('deletes rows that the list and single reads no longer have, each requested once, between rows that are there', async () => {
    const nights = await nightsOf(all);
    const from = { list: without(3, 100, 249) };
    const report = await nights.run(from);
    expect(mergedOf(report)).toEqual({ before: 250, inserted: 0, changed: 0, unchanged: 247, deleted: 3 });
    expect(await nights.ids()).toEqual(idsWithout(3, 100, 249));
    const controls = ['0', '102', '202', '248'];
    const requested = [nights.singles.slice(0, 4), nights.singles.slice(4, -4), nights.singles.slice(-4)];
    expect(requested.map((ids) => ids.toSorted())).toEqual([controls, ['100', '249', '3'], controls]);
    expect(mergedOf(await nights.run(from))).toEqual({ before: 247, inserted: 0, changed: 0, unchanged: 247, deleted: 0 });
    expect(nights.singles).toEqual([]);
    const [night] = await tableRuns(join(nights.folder, 't'));
    expect(night).toMatchObject({ state: 'unchanged' });
  });

  test('deletes, inserts and changes in one night, and in partitions, rows with a column deleted_at of their own', async () => {
    const status = (index: number) => ({ lead_status: index % 2 === 0 ? 'sold' : 'open' });
    const by = merging(', partition_by: [lead_status], ignore: [deleted_at]', '  - rename: { timestamp: deleted_at }');
    const nights = await nightsOf(leads(100, status), by);
    const list = [...leads(100, (index) => status(index === 7 ? 8 : index)).slice(2), lead(100, status(0))];
    const counts = { before: 100, inserted: 1, changed: 1, unchanged: 97, deleted: 2 };
    expect(mergedOf(await nights.run({ list }, by))).toEqual(counts);
    expect(await nights.ids()).toEqual(Array.from({ length: 99 }, (_, index) => index + 2));
  });

  test.each<readonly [string, NonNullable<Served['single']>, readonly number[], string?]>([
    ['that single reads find, because the service hides a page', () => true, []],
    ['when single reads find nothing at all', () => false, []],
    ['when a row that is there can no longer be found after the requests', (id, reads) => reads <= 4 && Number(id) !== 30, []],
    ['that single reads find, and no other', (id) => id !== '31', [31], '2 of them are found one by one, so they stay'],
    ['whose single read is refused', (id) => (id === '31' ? 400 : !/^3[02]$/.test(id)), [30, 32]],
  ])('deletes no row %s', async (_, single, gone, warning = '') => {
    const nights = await nightsOf(all);
    const report = await nights.run({ list: without(30, 31, 32), single });
    expect(warned(report)).toEqual([expect.stringContaining(warning)]);
    expect(mergedOf(report)).toMatchObject({ deleted: gone.length });
    expect(await nights.ids()).toEqual(idsWithout(...gone));
  });

  // The service is what the file begins with.
  const strict = `  strict: true\n${merging()}`;
  const strictly = { code: 'E_GATE_STRICT', message: expect.stringContaining('W_SINK_KEPT') };

  test.each<readonly [string, string, Served['single'], object]>([
    ['in a strict run when single reads find a row that the list lacks', strict, (id) => id !== '31', strictly],
    ['when single reads fail for a while', merging(), (id) => (id === '31' ? 503 : id !== '30'), { code: 'E_SOURCE_UNAVAILABLE' }],
    ['when the list was not checked', merging('', '', 'consistency: off'), undefined, { code: 'E_GATE_MISSING' }],
  ])('publishes nothing %s', async (_, body, single, refusal) => {
    const nights = await nightsOf(all);
    await expect(nights.run({ list: without(30, 31), single }, body)).rejects.toMatchObject(refusal);
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test('publishes nothing when the list shrank by half, until it is accepted', async () => {
    const [nights, from] = [await nightsOf(all), { list: all.slice(125) }];
    await expect(nights.run(from)).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    expect(await nights.ids()).toEqual(idsWithout());
    expect(mergedOf(await nights.run(from, merging(), { acceptDeletes: true }))).toMatchObject({ deleted: 125 });
    expect(await nights.ids()).toHaveLength(125);
  });

  test('lets rows that a step leaves out go without a request, but not after the pipeline has changed', async () => {
    const nights = await nightsOf(all, filtering('returned'));
    const returned = { list: leads(250, (index) => (index < 5 ? { lead_status: 'returned' } : index < 9 ? { lead_status: 'lost' } : {})) };
    expect(mergedOf(await nights.run(returned, filtering('returned')))).toMatchObject({ changed: 4, deleted: 5 });
    expect(nights.singles).toEqual([]);
    await expect(nights.run(returned, filtering('lost'))).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    expect(await nights.ids()).toEqual(idsWithout(0, 1, 2, 3, 4));
    // Now those of the first filter arrive, and those of the second leave.
    expect(mergedOf(await nights.run(returned, filtering('lost'), { acceptDeletes: true }))).toMatchObject({ inserted: 5, deleted: 4 });
    await nights.run(returned, filtering('lost'));
    expect(await nights.ids()).toEqual(idsWithout(5, 6, 7, 8));
  });

  test('counts a night that changed nothing as one of the pipeline', async () => {
    const nights = await nightsOf(all, filtering('returned'));
    await nights.run({ list: all }, filtering('lost'));
    await nights.run({ list: leads(250, (index) => (index < 5 ? { lead_status: 'lost' } : {})) }, filtering('lost'));
    expect(await nights.ids()).toEqual(idsWithout(0, 1, 2, 3, 4));
  });

  test('keeps the old version of a row that is rejected, at a step and at the table', async () => {
    const typed = leads(250, () => ({ age: '40', days_between_sessions: '1' }));
    const steps = '  - cast: { types: { age: integer } }\n  - rename: { lead_id: id }';
    const body = merging('', steps, 'rejects: { max: 10 }');
    const nights = await nightsOf(typed, body);
    const wrong = typed.map((row, index) => ({ ...row, ...(index === 3 && { age: 'x' }), ...(index === 4 && { timestamp: 'x' }) }));
    const report = await nights.run({ list: wrong.slice(0, 249) }, body);
    expect(mergedOf(report)).toMatchObject({ before: 250, changed: 0, unchanged: 247, deleted: 1 });
    const found = await duckdb(`SELECT count(*)::int AS n, count(age)::int AS ages FROM read_parquet('${nights.folder}/t/*.parquet')`);
    expect(found).toEqual([{ n: 249, ages: 249 }]);
  });

  test.each(['', null])('deletes nothing in a night when a row without its key was read (%p)', async (id) => {
    const nights = await nightsOf(all);
    const report = await nights.run({ list: [...without(30, 31), { ...lead(30), lead_id: id }] }, merging('', '', 'rejects: { max: 10 }'));
    expect(mergedOf(report)).toMatchObject({ deleted: 0 });
    expect(warned(report)).toEqual([expect.stringContaining('without its key')]);
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test('deletes more than 1,000 rows only with a second pass', async () => {
    const many = leads(6000);
    const proving = merging('', '', 'consistency: prove');
    const nights = await nightsOf(many);
    const fewer = { list: many.slice(1001) };
    await expect(nights.run(fewer)).rejects.toMatchObject({ code: 'E_GATE_MISSING' });
    expect(await nights.ids()).toHaveLength(6000);
    // That is no other pipeline, so nothing has to be accepted.
    expect(mergedOf(await nights.run(fewer, proving))).toMatchObject({ deleted: 1001 });
    expect(nights.singles).toEqual([]);
    expect(await nights.ids()).toHaveLength(4999);
  });

  test('asks before it deletes what another service or account does not have, which is not in the manifest', async () => {
    const [nights, { env }] = [await nightsOf(all), await serviceOf({ leads: without(1) })];
    const other = { list: without(1), env: { LEADSTREAM_REST_API_KEY: otherKey } };
    const refusal = { code: 'E_GATE_MERGE', message: expect.stringContaining('of another service, account or list') };
    for (const from of [{ list: [], env }, other]) await expect(nights.run(from)).rejects.toMatchObject(refusal);
    expect(await nights.ids()).toEqual(idsWithout());
    expect(mergedOf(await nights.run(other, merging(), { acceptDeletes: true }))).toMatchObject({ deleted: 1 });
    const [{ manifest } = {}] = await tableRuns(join(nights.folder, 't'));
    expect(manifest?.account).toMatch(/^[0-9a-f]{4}$/);
    expect(mergedOf(await nights.run({ ...other, list: without(1, 2) }))).toMatchObject({ deleted: 1 });
  });

  test('asks before it deletes what an own collection lacks after its query has changed', async () => {
    const own = (query: string) =>
      `collections:\n  orders:\n    path: /api/leads\n    key: [lead_id]\n    paging: { scheme: page, param: page }\n${query}` +
      `    fields: { lead_id: text, lead_status: text }\n${merging('', '', 'consistency: prove').replace('leads', 'orders')}`;
    const nights = await nightsOf(all, own(''));
    expect(mergedOf(await nights.run({ list: without(1) }, own('')))).toMatchObject({ deleted: 1 });
    const narrowed = own('    query: { city: rare }\n');
    await expect(nights.run({ list: without(1, 2) }, narrowed)).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    expect(await nights.ids()).toEqual(idsWithout(1));
    expect(mergedOf(await nights.run({ list: without(1, 2) }, narrowed, { acceptDeletes: true }))).toMatchObject({ deleted: 1 });
  });

  test('deletes nothing when no row was read at all', async () => {
    const nights = await nightsOf(all);
    const report = await nights.run({ list: [] }, merging('', '', 'consistency: prove'), { allowShrink: true });
    expect(warned(report)).toEqual([expect.stringContaining('no row was read at all')]);
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test.each(['delta', 'iceberg'])('leaves no file open when it is refused (%s)', async (table) => {
    const body = merging(`, partition_by: [lead_status], row_group_rows: 5, table: ${table}`);
    const nights = await nightsOf(all, body);
    const fewer = leads(250, (index) => ({ lead_status: `s${index % 3}` })).slice(100);
    await expect(nights.run({ list: fewer }, body)).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    const open = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    expect(open.filter((path) => path.startsWith(nights.folder))).toEqual([]);
  });

  test.each([
    ['a sample', merging('', '  - sample: { percent: 50 }'), 'behind steps[0] sample'],
    ['a limit', merging('', '  - limit: 100'), 'behind steps[0] limit'],
    ['groups', merging('', '  - aggregate: { by: [lead_id], compute: { n: count() } }'), 'behind steps[0] aggregate'],
    ['another key', merging(', key: [lead_status]'), 'must be the key of the table'],
    ['a key that was cast', merging('', '  - cast: { types: { lead_id: integer } }'), 'as texts and unchanged'],
    ['a key that is computed', merging(', key: [lead_id]', `  - derive: { lead_id: "lead_id + 'x'" }`), 'must be the key of the table'],
    ['a column of history', merging(', history: true', '  - derive: { is_current: lead_id }'), 'history adds the column is_current'],
    ['a column that mark adds', marking('', '  - derive: { deleted_at: lead_id }'), 'mark adds the column deleted_at'],
    ['another mode', merging().replace('mode: merge', 'mode: append'), 'on_missing needs mode: merge'],
  ])('is refused for %s before anything is read', async (_, body, message) => {
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'k' };
    await expect(pipelineFor({ env }, body, await temporaryFolder())).rejects.toThrow(message);
  });
});

describe('on_missing: mark', () => {
  test.each(['', ', table: iceberg', ', table: delta', ', partition_by: [lead_status]'])(
    'keeps missing rows with the time, until their key returns (%s)',
    async (kind) => {
      const nights = await nightsOf(all, marking(kind));
      const marks = async () => {
        const found = await duckdb(`SELECT lead_id::int AS id, deleted_at FROM ${await tableOf(nights)} ORDER BY id`);
        expect(found).toHaveLength(250);
        return new Map(found.flatMap(({ id, deleted_at: at }) => (typeof at === 'string' ? [[Number(id), at]] : [])));
      };
      expect(await marks()).toEqual(new Map());
      const report = await nights.run({ list: without(3, 100) }, marking(kind));
      expect(mergedOf(report)).toEqual({ before: 250, inserted: 0, changed: 0, unchanged: 248, deleted: 0, marked: 2 });
      expect(summaryOf(report)).toMatch(/^ {2}to\[0\] parquet: merged into 250 rows: .*deleted 0, marked 2; it has 250 now$/m);
      const first = await marks();
      expect([...first.keys()]).toEqual([3, 100]);
      expect(mergedOf(await nights.run({ list: without(3, 100) }, marking(kind)))).toMatchObject({ unchanged: 248, marked: 0 });
      expect(nights.singles).toEqual([]);
      // One returns as it was, and another one goes.
      expect(mergedOf(await nights.run({ list: without(100, 101) }, marking(kind)))).toMatchObject({ changed: 1, marked: 1 });
      const second = await marks();
      expect([...second.keys()]).toEqual([100, 101]);
      expect(second.get(100)).toBe(first.get(100));
      await compactTable(join(nights.folder, 't'), { stateDir: join(nights.folder, 'state') });
      expect(mergedOf(await nights.run({ list: without(100, 101) }, marking(kind)))).toMatchObject({ changed: 0, marked: 0 });
      expect(await marks()).toEqual(second);
    },
  );

  test('compares max_deleted with the rows that are not marked', async () => {
    const nights = await nightsOf(all, marking());
    const accepted = { acceptDeletes: true, allowShrink: true };
    expect(mergedOf(await nights.run({ list: all.slice(200) }, marking(), accepted))).toMatchObject({ marked: 200 });
    const refused = nights.run({ list: all.slice(215) }, marking());
    await expect(refused).rejects.toMatchObject({ code: 'E_GATE_MERGE', message: expect.stringContaining('15 of 50 rows') });
    // Rows that return count as rows before that were marked.
    const list = [...all.slice(0, 20), ...all.slice(215)];
    await expect(nights.run({ list }, marking())).rejects.toMatchObject({ message: expect.stringContaining('15 of 50 rows') });
  });
});

test.each(['plain', 'iceberg', 'delta'])('history: true ends the versions of missing rows, until their key returns (%s)', async (table) => {
  const body = merging(`, history: true, table: ${table}`);
  const nights = await nightsOf(all, body);
  expect(mergedOf(await nights.run({ list: without(3, 100) }, body))).toMatchObject({ before: 250, deleted: 2, closed: 2 });
  expect(mergedOf(await nights.run({ list: without(100) }, body))).toMatchObject({ before: 250, inserted: 1, deleted: 0, closed: 0 });
  const versions = `SELECT lead_id || ' ' || (valid_to IS NULL) AS version FROM ${await tableOf(nights)} WHERE lead_id IN ('3', '100')`;
  const found = await duckdb(`${versions} ORDER BY lead_id, valid_from`);
  expect(found.map(({ version }) => version)).toEqual(['100 false', '3 false', '3 true']);
});

describe('a merge after a night without changes', () => {
  const keeping = (more = '') => `from: leads\nto:\n  - parquet: { path: t, mode: merge${more} }`;
  const fresh = { list: leads(250, (index) => (index < 150 ? {} : { fresh: 'x' })) };

  test.each(['plain', 'delta', 'iceberg'])('has a column for a field that was first read then, after page 1 (%s)', async (table) => {
    const body = keeping(`, table: ${table}`);
    const nights = await nightsOf(all, body);
    expect(mergedOf(await nights.run(fresh, body))).toMatchObject({ unchanged: 250 });
    expect(mergedOf(await nights.run(fresh, body))).toMatchObject({ changed: 100 });
  });

  test('has that column also when the table was compacted in between', async () => {
    const nights = await nightsOf(leads(100), keeping());
    await nights.run({ list: all }, keeping());
    await nights.run(fresh, keeping());
    const { from, to } = await compactTable(join(nights.folder, 't'), { stateDir: join(nights.folder, 'state') });
    expect(to).not.toBe(from);
    expect(mergedOf(await nights.run(fresh, keeping()))).toMatchObject({ changed: 100 });
  });

  test('is compared with the rows that were read then', async () => {
    const nights = await nightsOf(all, keeping());
    for (const count of [150, 90])
      expect(mergedOf(await nights.run({ list: all.slice(0, count) }, keeping()))).toMatchObject({ unchanged: count });
  });
});
