import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { tableFiles, tableRuns, verifyTable } from '../../../src/lake/index.js';
import { compactTable, runPipeline, type RunOptions, type RunReport } from '../../../src/run/index.js';
import { summaryOf } from '../../../src/run/report.js';
import { type Answer, failure, type RequestFacts, type Responder } from '../../../src/service/answer.js';
import { generate } from '../../../src/service/index.js';
import { duckdb } from '../../support/duckdb.js';
import { lead, leads, type LoggedService, pipelineFor, service, serviceOf, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

type Lead = Readonly<Record<string, unknown>>;

/** What a service has on a night. */
interface Served {
  readonly list: readonly Lead[];
  /** Whether single reads find a row; by default those of the list. */
  readonly single?: (id: string, reads: number) => boolean;
  readonly responder?: Responder;
  /** The key of another account that requests it. */
  readonly key?: string;
}

const merging = (more = '', steps = '', head = '') =>
  `from: leads\n${head}\n${steps === '' ? '' : `steps:\n${steps}\n`}to:\n` +
  `  - parquet: { path: t, mode: merge, on_missing: delete, max_deleted: 20%${more} }`;

const otherKey = 'the-key-of-another-account';

/** A table that is merged into night after night, from a service that is another each night at one address. */
class Nights {
  #served: Served = { list: [] };
  #reads = 0;
  /** The identifiers that were requested one by one in the last night. */
  singles: readonly string[] = [];

  private constructor(
    readonly folder: string,
    readonly from: LoggedService,
  ) {}

  static async of(list: readonly Lead[], body = merging()): Promise<Nights> {
    const answers: Responder = (facts) => nights.#answer(facts);
    const from = await service(generate({ leads: 0, bridges: 0, links: 0, users: 0, seed: 1 }), {
      responders: [answers],
      accounts: [{ restApiKey: testKey }, { restApiKey: otherKey }],
    });
    const nights = new Nights(await temporaryFolder(), from);
    await nights.run({ list }, body);
    return nights;
  }

  async run(served: Served, body = merging(), options: RunOptions = {}): Promise<RunReport> {
    const { requests } = this.from;
    requests.splice(0);
    [this.#served, this.#reads] = [served, 0];
    const { env } = this.from;
    const from = { env: { ...env, ...(served.key !== undefined && { LEADSTREAM_REST_API_KEY: served.key }) } };
    const pipeline = await pipelineFor(from, body, this.folder);
    const report = await runPipeline(pipeline, { stateDir: join(this.folder, 'state'), ...options });
    this.singles = requests.flatMap((request) => /^leads\/(.*)/.exec(request)?.[1] ?? []);
    expect((await verifyTable(join(this.folder, 't'))).differences).toEqual([]);
    return report;
  }

  async ids(): Promise<readonly number[]> {
    const found = await duckdb(`SELECT lead_id::int AS id FROM read_parquet('${this.folder}/t/**/*.parquet') ORDER BY id`);
    return found.map(({ id }) => Number(id));
  }

  async #answer(facts: RequestFacts): Promise<Answer> {
    const { list, single, responder } = this.#served;
    const answer = ({ id, page, limit }: RequestFacts): Answer => {
      const rows = list.slice((page - 1) * limit, page * limit);
      if (id === null) return { kind: 'rows', rows: rows.map((row) => JSON.stringify(row)) };
      this.#reads += 1;
      const found = list.find((row) => row['lead_id'] === id);
      const isThere = single ? single(id, this.#reads) : found !== undefined;
      return isThere ? { kind: 'rows', rows: [JSON.stringify(found ?? lead(Number(id)))] } : failure(404, 'not found');
    };
    return responder ? responder(facts, answer) : answer(facts);
  }
}

const all = leads(250);
const without = (...gone: readonly number[]) => all.filter((_, index) => !gone.includes(index));
const idsWithout = (...gone: readonly number[]) => [...all.keys()].filter((index) => !gone.includes(index));
const mergedOf = ({ sinks: [sink] }: RunReport) => sink?.merged;
const warned = ({ warnings }: RunReport) => warnings.filter(({ code }) => code === 'W_SINK_KEPT').map(({ message }) => message);

describe('on_missing: delete', () => {
  test('deletes rows that the list and single reads no longer have, each requested once, between rows that are there', async () => {
    const nights = await Nights.of(all);
    const from = { list: without(3, 100, 249) };
    const report = await nights.run(from);
    expect(mergedOf(report)).toEqual({ before: 250, inserted: 0, changed: 0, unchanged: 247, deleted: 3 });
    expect(await nights.ids()).toEqual(idsWithout(3, 100, 249));
    const requested = nights.singles;
    const controls = ['0', '102', '202', '248'];
    expect(requested.slice(0, 4).toSorted()).toEqual(controls.toSorted());
    expect(requested.slice(4, -4).toSorted()).toEqual(['100', '249', '3']);
    expect(requested.slice(-4).toSorted()).toEqual(controls.toSorted());
    const again = await nights.run(from);
    expect(mergedOf(again)).toEqual({ before: 247, inserted: 0, changed: 0, unchanged: 247, deleted: 0 });
    expect(nights.singles).toEqual([]);
    const [night] = await tableRuns(join(nights.folder, 't'));
    expect(night).toMatchObject({ state: 'unchanged' });
  });

  test('deletes, inserts and changes in one night, and in partitions', async () => {
    const status = (index: number) => ({ lead_status: index % 2 === 0 ? 'sold' : 'open' });
    const by = merging(', partition_by: [lead_status]');
    const nights = await Nights.of(leads(100, status), by);
    const changed = [...leads(100, (index) => status(index === 7 ? 8 : index)).slice(2), lead(100, status(0))];
    expect(mergedOf(await nights.run({ list: changed }, by))).toEqual({
      before: 100,
      inserted: 1,
      changed: 1,
      unchanged: 97,
      deleted: 2,
    });
    expect(await nights.ids()).toEqual(Array.from({ length: 99 }, (_, index) => index + 2));
  });

  test.each<readonly [string, Omit<Served, 'list'>]>([
    ['that single reads find, because the service hides a page', { single: () => true }],
    ['when single reads find nothing at all', { single: () => false }],
    ['when a row that is there can no longer be found after the requests', { single: (id, reads) => reads <= 4 && Number(id) !== 30 }],
  ])('deletes no row %s', async (_, how) => {
    const nights = await Nights.of(all);
    const report = await nights.run({ list: without(30, 31, 32), ...how });
    expect(mergedOf(report)).toMatchObject({ deleted: 0 });
    expect(warned(report)).toHaveLength(1);
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test('deletes only those rows that single reads do not find', async () => {
    const nights = await Nights.of(all);
    const report = await nights.run({ list: without(30, 31, 32), single: (id) => id !== '31' });
    expect(warned(report)).toEqual([expect.stringContaining('2 of them are found one by one, so they stay')]);
    expect(await nights.ids()).toEqual(idsWithout(31));
  });

  test('publishes nothing in a strict run when single reads find a row that the list lacks', async () => {
    const nights = await Nights.of(all);
    // The service is what the file begins with.
    const strict = `  strict: true\n${merging()}`;
    const running = nights.run({ list: without(30, 31), single: (id) => id !== '31' }, strict);
    await expect(running).rejects.toMatchObject({ code: 'E_GATE_STRICT', message: expect.stringContaining('W_SINK_KEPT') });
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test('publishes nothing when the single reads fail for a while', async () => {
    const nights = await Nights.of(all);
    const fails: Responder = (facts, next) => (facts.id === '31' ? failure(503, 'busy') : next(facts));
    const failing = nights.run({ list: without(30, 31), responder: fails });
    await expect(failing).rejects.toMatchObject({ code: 'E_SOURCE_UNAVAILABLE' });
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test('keeps a row whose single read is refused', async () => {
    const nights = await Nights.of(all);
    const refuses: Responder = (facts, next) => (facts.id === '31' ? failure(400, 'no') : next(facts));
    await nights.run({ list: without(30, 31), responder: refuses });
    expect(await nights.ids()).toEqual(idsWithout(30));
  });

  test.each([
    ['shrank by more than max_deleted', 60],
    ['shrank by half', 125],
  ])('publishes nothing when the list %s, until it is accepted', async (_, count) => {
    const nights = await Nights.of(all);
    const from = { list: all.slice(count) };
    await expect(nights.run(from)).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    expect(await nights.ids()).toEqual(idsWithout());
    expect(mergedOf(await nights.run(from, merging(), { acceptDeletes: true }))).toMatchObject({ deleted: count });
    expect(await nights.ids()).toHaveLength(250 - count);
  });

  test('lets rows that a step leaves out go without a request, but not after the pipeline has changed', async () => {
    const filtering = (status: string) => merging('', `  - filter: "lead_status != '${status}'"`);
    const nights = await Nights.of(all, filtering('returned'));
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
    const filtering = (status: string) => merging('', `  - filter: "lead_status != '${status}'"`);
    const nights = await Nights.of(all, filtering('returned'));
    await nights.run({ list: all }, filtering('lost'));
    await nights.run({ list: leads(250, (index) => (index < 5 ? { lead_status: 'lost' } : {})) }, filtering('lost'));
    expect(await nights.ids()).toEqual(idsWithout(0, 1, 2, 3, 4));
  });

  test('keeps the old version of a row that is rejected, at a step and at the table', async () => {
    const typed = leads(250, () => ({ age: '40', days_between_sessions: '1' }));
    const steps = '  - cast: { types: { age: integer } }\n  - rename: { lead_id: id }';
    const body = merging('', steps, 'rejects: { max: 10 }');
    const nights = await Nights.of(typed, body);
    const wrong = typed.map((row, index) => ({ ...row, ...(index === 3 && { age: 'x' }), ...(index === 4 && { timestamp: 'x' }) }));
    const report = await nights.run({ list: wrong.slice(0, 249) }, body);
    expect(mergedOf(report)).toMatchObject({ before: 250, changed: 0, unchanged: 247, deleted: 1 });
    const found = await duckdb(`SELECT count(*)::int AS n, count(age)::int AS ages FROM read_parquet('${nights.folder}/t/*.parquet')`);
    expect(found).toEqual([{ n: 249, ages: 249 }]);
  });

  test.each(['', null])('deletes nothing in a night when a row without its key was read (%p)', async (id) => {
    const nights = await Nights.of(all);
    const report = await nights.run({ list: [...without(30, 31), { ...lead(30), lead_id: id }] }, merging('', '', 'rejects: { max: 10 }'));
    expect(mergedOf(report)).toMatchObject({ deleted: 0 });
    expect(warned(report)).toEqual([expect.stringContaining('without its key')]);
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test('publishes nothing when the list was not checked, and more than 1,000 rows are missing only with a second pass', async () => {
    const many = leads(6000);
    const proving = merging('', '', 'consistency: prove');
    const unchecked = merging('', '', 'consistency: off');
    const nights = await Nights.of(many);
    const few = { list: many.slice(10) };
    await expect(nights.run(few, unchecked)).rejects.toMatchObject({ code: 'E_GATE_MISSING' });
    const fewer = { list: many.slice(1001) };
    await expect(nights.run(fewer)).rejects.toMatchObject({ code: 'E_GATE_MISSING' });
    expect(await nights.ids()).toHaveLength(6000);
    // That is no other pipeline, so nothing has to be accepted.
    expect(mergedOf(await nights.run(fewer, proving))).toMatchObject({ deleted: 1001 });
    expect(nights.singles).toEqual([]);
    expect(await nights.ids()).toHaveLength(4999);
  });

  test('asks before it deletes what another service does not have', async () => {
    const nights = await Nights.of(all);
    const other = await serviceOf({ leads: without(1) });
    const running = runPipeline(await pipelineFor(other, merging(), nights.folder), { stateDir: join(nights.folder, 'state') });
    await expect(running).rejects.toMatchObject({ code: 'E_GATE_MERGE', message: expect.stringContaining('of another service') });
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test('asks before it deletes what another account does not have, which is not in the manifest', async () => {
    const nights = await Nights.of(all);
    const other = { list: without(1), key: otherKey };
    await expect(nights.run(other)).rejects.toMatchObject({ code: 'E_GATE_MERGE', message: expect.stringContaining('account') });
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
    const nights = await Nights.of(all, own(''));
    expect(mergedOf(await nights.run({ list: without(1) }, own('')))).toMatchObject({ deleted: 1 });
    const narrowed = own('    query: { city: rare }\n');
    await expect(nights.run({ list: without(1, 2) }, narrowed)).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    expect(await nights.ids()).toEqual(idsWithout(1));
    expect(mergedOf(await nights.run({ list: without(1, 2) }, narrowed, { acceptDeletes: true }))).toMatchObject({ deleted: 1 });
  });

  test('deletes nothing when no row was read at all', async () => {
    const nights = await Nights.of(all);
    const report = await nights.run({ list: [] }, merging('', '', 'consistency: prove'), { allowShrink: true });
    expect(warned(report)).toEqual([expect.stringContaining('no row was read at all')]);
    expect(await nights.ids()).toEqual(idsWithout());
  });

  test.each(['delta', 'iceberg'])('leaves no file open when it is refused (%s)', async (table) => {
    const body = merging(`, partition_by: [lead_status], row_group_rows: 5, table: ${table}`);
    const nights = await Nights.of(all, body);
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
    ['another mode', merging().replace('mode: merge', 'mode: append'), 'on_missing needs mode: merge'],
  ])('is refused for %s before anything is read', async (_, body, message) => {
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'k' };
    await expect(pipelineFor({ env }, body, await temporaryFolder())).rejects.toThrow(message);
  });
});

describe('on_missing: mark', () => {
  const marking = (more = '') => merging(more).replace('delete', 'mark');

  test.each(['', ', table: iceberg', ', table: delta', ', partition_by: [lead_status]'])(
    'keeps missing rows with the time, until their key returns (%s)',
    async (kind) => {
      const nights = await Nights.of(all, marking(kind));
      const marks = async () => {
        const { files } = await tableFiles(join(nights.folder, 't'));
        const from = `read_parquet([${files.map((file) => `'${file}'`).join()}], union_by_name = true)`;
        const found = await duckdb(`SELECT lead_id::int AS id, deleted_at FROM ${from} ORDER BY id`);
        expect(found).toHaveLength(250);
        return new Map(found.flatMap(({ id, deleted_at: at }) => (typeof at === 'string' ? [[Number(id), at]] : [])));
      };
      expect(await marks()).toEqual(new Map());
      const report = await nights.run({ list: without(3, 100) }, marking(kind));
      expect(mergedOf(report)).toEqual({ before: 250, inserted: 0, changed: 0, unchanged: 248, deleted: 0, marked: 2 });
      expect(summaryOf(report)).toContain('deleted 0, marked 2; it has 250 now');
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
    const nights = await Nights.of(all, marking());
    const accepted = { acceptDeletes: true, allowShrink: true };
    expect(mergedOf(await nights.run({ list: all.slice(200) }, marking(), accepted))).toMatchObject({ marked: 200 });
    const refused = nights.run({ list: all.slice(215) }, marking());
    await expect(refused).rejects.toMatchObject({ code: 'E_GATE_MERGE', message: expect.stringContaining('15 of 50 rows') });
    // Rows that return count as rows before that were marked.
    const list = [...all.slice(0, 20), ...all.slice(215)];
    await expect(nights.run({ list }, marking())).rejects.toMatchObject({ message: expect.stringContaining('15 of 50 rows') });
  });

  test('is refused next to a column of that name', async () => {
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'k' };
    const body = marking().replace('to:', 'steps:\n  - derive: { deleted_at: lead_id }\nto:');
    await expect(pipelineFor({ env }, body, await temporaryFolder())).rejects.toThrow('mark adds the column deleted_at');
  });
});

describe('a merge after a night without changes', () => {
  const keeping = (more = '') => `from: leads\nto:\n  - parquet: { path: t, mode: merge${more} }`;

  test.each(['plain', 'delta', 'iceberg'])('has a column for a field that was first read then, after page 1 (%s)', async (table) => {
    const body = keeping(`, table: ${table}`);
    const nights = await Nights.of(all, body);
    const fresh = { list: leads(250, (index) => (index < 150 ? {} : { fresh: 'x' })) };
    expect(mergedOf(await nights.run(fresh, body))).toMatchObject({ unchanged: 250 });
    expect(mergedOf(await nights.run(fresh, body))).toMatchObject({ changed: 100 });
  });

  test('has that column also when the table was compacted in between', async () => {
    const nights = await Nights.of(leads(100), keeping());
    await nights.run({ list: all }, keeping());
    const fresh = { list: leads(250, (index) => (index < 150 ? {} : { fresh: 'x' })) };
    await nights.run(fresh, keeping());
    const { from, to } = await compactTable(join(nights.folder, 't'), { stateDir: join(nights.folder, 'state') });
    expect(to).not.toBe(from);
    expect(mergedOf(await nights.run(fresh, keeping()))).toMatchObject({ changed: 100 });
  });

  test('is compared with the rows that were read then', async () => {
    const nights = await Nights.of(all, keeping());
    for (const count of [150, 90])
      expect(mergedOf(await nights.run({ list: all.slice(0, count) }, keeping()))).toMatchObject({ unchanged: count });
  });
});
