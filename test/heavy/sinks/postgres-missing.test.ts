import { postgres } from '../../../src/sinks/index.js';
import { summaryOf } from '../../../src/run/report.js';
import { all, idsWithout, type Lead, mergedOf, Nights, without } from '../../support/nights.js';
import { inPostgres, type Postgres } from '../../support/postgres.js';
import { seeded } from '../../support/seeded.js';
import { lead, leads } from '../../support/services.js';
import { column, writeAll } from '../../support/sinks.js';

const merging = (more = 'on_missing: delete, max_deleted: 20%', steps = '', head = '') =>
  `from: leads\n${head}\n${steps === '' ? '' : `steps:\n${steps}\n`}to:\n` +
  `  - postgres: { url: '\${DATABASE_URL}', table: leads, mode: merge, create: true, columns: [lead_id, age, lead_status], ${more} }`;

const nightsIn = ({ url, query }: Postgres) =>
  Nights.of({
    ...{ body: merging(), env: { DATABASE_URL: url } },
    ids: (_folder, where) => query(`SELECT lead_id::int AS id FROM leads ${where} ORDER BY id`),
  });

const marking = merging('on_missing: mark, max_deleted: 20%');

inPostgres('on_missing of a table of PostgreSQL', (database) => {
  test('deletes rows that the list and single reads no longer have, and says so in report, ledger and summary', async () => {
    const db = await database();
    const nights = await nightsIn(db);
    await nights.run({ list: all });
    const report = await nights.run({ list: without(3, 100, 249) });
    expect(mergedOf(report)).toEqual({ before: 250, inserted: 0, changed: 0, unchanged: 247, deleted: 3 });
    expect(await nights.ids()).toEqual(idsWithout(3, 100, 249));
    expect(nights.singles.slice(4, -4).toSorted()).toEqual(['100', '249', '3']);
    expect(summaryOf(report)).toContain('merged into 250 rows: inserted 0, changed 0, unchanged 247, deleted 3; it has 247 now');
    const ledger = await db.query('SELECT before::int, deleted::int, total::int FROM leadstream_runs ORDER BY number DESC LIMIT 1');
    expect(ledger).toEqual([{ before: 250, deleted: 3, total: 247 }]);
    expect(mergedOf(await nights.run({ list: without(3, 100, 249) }))).toMatchObject({ before: 247, unchanged: 247, deleted: 0 });
    expect(nights.singles).toEqual([]);
    // Single reads find nothing at all, not even rows of the list.
    await nights.run({ list: without(3, 7, 100, 249), single: () => false });
    expect(await nights.ids()).toEqual(idsWithout(3, 100, 249));
  });

  test.each([
    ['single reads fail', merging(), { list: without(30, 31), single: () => 503 }, 'E_SOURCE_UNAVAILABLE'],
    ['more are missing than max_deleted', merging(), { list: all.slice(60) }, 'E_GATE_MERGE'],
    ['more changed than max_changed', merging('max_changed: 1%'), { list: leads(250, () => ({ age: '7' })) }, 'E_GATE_MERGE'],
    ['the list was not checked', merging(undefined, '', 'consistency: off'), { list: without(30) }, 'E_GATE_MISSING'],
  ])('publishes nothing when %s', async (_title, body, served, code) => {
    const db = await database();
    const nights = await nightsIn(db);
    await nights.run({ list: all }, body);
    await expect(nights.run(served, body)).rejects.toMatchObject({ code });
    expect(await nights.ids()).toEqual(idsWithout());
    expect(await db.query('SELECT count(*)::int AS runs FROM leadstream_runs')).toEqual([{ runs: 1 }]);
  });

  test('deletes more than 1,000 rows after a second pass only, each by its key, whose column has any name', async () => {
    const [db, many] = [await database(), leads(6000)];
    const nights = await nightsIn(db);
    const body = merging(undefined, '  - rename: { lead_id: is_unread }').replace('[lead_id', '[is_unread');
    const proving = body.replace('\n', '\nconsistency: prove');
    await nights.run({ list: many }, body);
    await expect(nights.run({ list: many.slice(1001) }, body)).rejects.toMatchObject({ code: 'E_GATE_MISSING' });
    expect(mergedOf(await nights.run({ list: many.slice(1001) }, proving))).toMatchObject({ deleted: 1001 });
    expect(nights.singles).toEqual([]);
    const ids = await db.query('SELECT is_unread::int AS id FROM leads ORDER BY id');
    expect(ids.map(({ id }) => id)).toEqual([...many.keys()].slice(1001));
  });

  test('marks rows with the time until their key returns, and compares max_deleted with those that are not marked', async () => {
    const db = await database();
    const nights = await nightsIn(db);
    const marks = async () => db.query('SELECT lead_id, deleted_at FROM leads WHERE deleted_at IS NOT NULL ORDER BY lead_id::int');
    await nights.run({ list: all }, marking);
    const report = await nights.run({ list: without(3, 100) }, marking);
    expect(mergedOf(report)).toEqual({ before: 250, inserted: 0, changed: 0, unchanged: 248, deleted: 0, marked: 2 });
    const first = await marks();
    expect(first).toMatchObject([{ lead_id: '3' }, { lead_id: '100' }]);
    expect(mergedOf(await nights.run({ list: without(3, 100) }, marking))).toMatchObject({ unchanged: 248, marked: 0 });
    expect(nights.singles).toEqual([]);
    // One returns as it was, and another one goes.
    expect(mergedOf(await nights.run({ list: without(100, 101) }, marking))).toMatchObject({ changed: 1, marked: 1 });
    expect(await marks()).toMatchObject([first[1], { lead_id: '101' }]);
    const accepted = { acceptDeletes: true, allowShrink: true };
    expect(mergedOf(await nights.run({ list: all.slice(200) }, marking, accepted))).toMatchObject({ marked: 198 });
    const refused = { code: 'E_GATE_MERGE', message: expect.stringContaining('15 of 50 rows') };
    await expect(nights.run({ list: all.slice(215) }, marking)).rejects.toMatchObject(refused);
  });

  test.each(['keep', 'delete'])(
    'ends the mark of a row that returns, when rows that are gone are to be treated otherwise (%s)',
    async (other) => {
      const nights = await nightsIn(await database());
      await nights.run({ list: all }, marking);
      await nights.run({ list: without(3, 100) }, marking);
      const accepted = { acceptDeletes: true };
      expect(mergedOf(await nights.run({ list: without(3) }, marking.replace('mark', other), accepted))).toMatchObject({ changed: 1 });
      expect(await nights.ids('WHERE deleted_at IS NOT NULL')).toEqual(other === 'keep' ? [3] : []);
      expect(await nights.ids('WHERE deleted_at IS NULL')).toEqual(idsWithout(3));
      await nights.run({ list: all }, marking.replace('merge', 'append').replace('on_missing: mark, ', ''));
      await nights.run({ list: all }, marking.replace('mark', other), accepted);
      expect(await nights.ids('WHERE deleted_at IS NULL')).toEqual(idsWithout());
    },
  );

  test('adds deleted_at to a table that it had merged into', async () => {
    const nights = await nightsIn(await database());
    await nights.run({ list: all }, marking.replace('mark', 'keep'));
    const accepted = { acceptDeletes: true };
    expect(mergedOf(await nights.run({ list: without(7) }, marking, accepted))).toMatchObject({ unchanged: 249, marked: 1 });
    expect(await nights.ids('WHERE deleted_at IS NOT NULL')).toEqual([7]);
  });

  test('is refused where others wrote rows, and for a program, which does not know what its source had', async () => {
    const db = await database();
    const nights = await nightsIn(db);
    await nights.run({ list: all.slice(0, 9) });
    await db.query('DROP TABLE leadstream_runs');
    const refused = { code: 'E_SINK_CONFIG', message: expect.stringContaining('adopt: true') };
    for (const body of [merging(), marking]) await expect(nights.run({ list: all.slice(0, 8) }, body)).rejects.toMatchObject(refused);
    const out = postgres({ url: db.url, table: 'other', key: ['id'], create: true, mode: 'merge', on_missing: 'delete' });
    await expect(writeAll(out, [column('id')], [{ id: '1' }])).rejects.toThrow('a pipeline file');
  });

  test('is refused if another program took a row in between, and nothing is deleted', async () => {
    const db = await database();
    const nights = await nightsIn(db);
    await nights.run({ list: all });
    const single = async (id: string) => {
      await db.query(`DELETE FROM leads WHERE lead_id = '31'`);
      return id !== '30' && id !== '31';
    };
    await expect(nights.run({ list: without(30, 31), single })).rejects.toMatchObject({ code: 'E_RUN_LOCKED', exit: 75 });
    expect(await nights.ids()).toEqual(idsWithout(31));
  });
});

interface Row {
  readonly age: string;
  readonly status: string;
  readonly isMarked: boolean;
}

const statuses = ['sold', 'a\tb\\N', "it's", '', 'returned'];

inPostgres('nights at random of a table of PostgreSQL', (database) => {
  test.each([
    [1, 'delete'],
    [2, 'mark'],
    [3, 'delete'],
    [4, 'mark'],
  ])('leave the rows of a plain model, and its counts (seed %s, %s)', async (seed, onMissing) => {
    const random = seeded(seed);
    const below = (most: number) => Math.floor(random() * most);
    const db = await database();
    const nights = await nightsIn(db);
    const body = merging(`on_missing: ${onMissing}, max_deleted: 40%`, `  - filter: "lead_status != 'returned'"`);
    let source = new Map<string, Lead>();
    const draw = (id: string) => lead(Number(id), { age: String(20 + below(9)), lead_status: statuses[below(statuses.length)] ?? '' });
    const model = new Map<string, Row>();

    /** Does to the model what a night should do to the table. */
    const merge = (mode: string, hidden: ReadonlySet<string>) => {
      const counts = { before: model.size, inserted: 0, changed: 0, unchanged: 0, deleted: 0, marked: 0 };
      for (const [id, { age, lead_status }] of source) {
        if (lead_status === 'returned' || hidden.has(id)) continue;
        const row = { age: String(age), status: String(lead_status), isMarked: false };
        const old = model.get(id);
        if (!old) counts.inserted += 1;
        else if (old.age === row.age && old.status === row.status && !old.isMarked) counts.unchanged += 1;
        else counts.changed += 1;
        if (mode === 'merge' || !old) model.set(id, row);
      }
      if (mode !== 'merge') return counts;
      for (const [id, row] of model) {
        const isThere = hidden.has(id) || (source.has(id) && source.get(id)?.['lead_status'] !== 'returned');
        if (isThere || row.isMarked) continue;
        if (onMissing === 'delete') model.delete(id);
        else model.set(id, { ...row, isMarked: true });
        counts[onMissing === 'delete' ? 'deleted' : 'marked'] += 1;
      }
      return counts;
    };

    for (let night = 0; night < 14; night += 1) {
      const next = new Map([...source].filter(() => random() > 0.1));
      for (const id of next.keys()) if (random() < 0.2) next.set(id, draw(id));
      for (let count = night === 0 ? 40 : below(8); count > 0; count -= 1) {
        const id = String(below(60));
        next.set(id, draw(id));
      }
      const before = source;
      source = new Map([...next].sort(() => random() - 0.5));
      // Rows that the list hides from one night to the next, but single reads find.
      const hidden = new Set([...source.keys()].filter((id) => model.has(id) && !model.get(id)?.isMarked && random() < 0.05));
      const list = [...source.values()].filter((row) => !hidden.has(String(row['lead_id'])));
      const kind = night === 0 ? 'merge' : (['merge', 'merge', 'merge', 'append', 'busy'][below(5)] ?? '');
      const isMissing = [...model].some(([id, { isMarked }]) => !isMarked && !list.some((row) => row['lead_id'] === id));
      const single = (id: string) => (kind === 'busy' ? 503 : source.has(id));
      const options = { acceptDeletes: true, allowShrink: true };
      const mode = kind === 'append' ? 'append' : 'merge';
      const text = mode === 'append' ? body.replace('mode: merge', 'mode: append').replace(/on_missing: \w+/, 'on_missing: keep') : body;
      if (kind === 'busy' && isMissing) {
        await expect(nights.run({ list, single }, text, options)).rejects.toMatchObject({ code: 'E_SOURCE_UNAVAILABLE' });
        source = before;
      } else {
        await nights.run({ list, single: kind === 'busy' ? () => true : single }, text, options);
        const counts = merge(mode, hidden);
        const [ledger] = await db.query('SELECT * FROM leadstream_runs ORDER BY number DESC LIMIT 1');
        const found = Object.fromEntries(Object.keys(counts).map((name) => [name, Number(ledger?.[name])]));
        const isAppend = mode === 'append';
        expect({ night, ...found }).toEqual({ night, ...counts, ...(isAppend && { unchanged: counts.unchanged + counts.changed }) });
        expect(ledger).toMatchObject({ mode, total: String(model.size) });
      }
      const rows = await db.query(
        `SELECT lead_id, age::text, lead_status, ${onMissing === 'mark' ? 'deleted_at IS NOT NULL' : 'false'} AS marked FROM leads`,
      );
      const seen = rows.map(({ lead_id, age, lead_status, marked }) => JSON.stringify([lead_id, age, lead_status, marked])).sort();
      const expected = [...model].map(([id, { age, status, isMarked }]) => JSON.stringify([id, age, status, isMarked])).sort();
      expect({ night, seen }).toEqual({ night, seen: expected });
    }
  });
});
