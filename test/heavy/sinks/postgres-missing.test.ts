import { all, idsWithout, type Lead, mergedOf, Nights, without } from '../../support/nights.js';
import { inPostgres, type Postgres } from '../../support/postgres.js';
import { seeded } from '../../support/seeded.js';
import { lead, leads } from '../../support/services.js';

const merging = (more = 'on_missing: delete, max_deleted: 20%', steps = '') =>
  `from: leads\n${steps === '' ? '' : `steps:\n${steps}\n`}to:\n` +
  `  - postgres: { url: '\${DATABASE_URL}', table: leads, mode: merge, create: true, columns: [lead_id, age, lead_status], ${more} }`;

const nightsIn = ({ url, query }: Postgres) =>
  Nights.of({
    ...{ body: merging(), env: { DATABASE_URL: url } },
    ids: (_folder, where) => query(`SELECT lead_id::int AS id FROM leads ${where} ORDER BY id`),
  });

const marking = merging('on_missing: mark, max_deleted: 20%');

inPostgres('on_missing of a table of PostgreSQL', (database) => {
  test('deletes rows that the list and single reads no longer have, and says so in report and ledger', async () => {
    const db = await database();
    const nights = await nightsIn(db);
    await nights.run({ list: all });
    const report = await nights.run({ list: without(3, 100, 249) });
    expect(mergedOf(report)).toEqual({ before: 250, inserted: 0, changed: 0, unchanged: 247, deleted: 3 });
    expect(await nights.ids()).toEqual(idsWithout(3, 100, 249));
    expect(nights.singles.slice(4, -4).toSorted()).toEqual(['100', '249', '3']);
    const ledger = await db.query('SELECT before::int, deleted::int, total::int FROM leadstream_runs ORDER BY number DESC LIMIT 1');
    expect(ledger).toEqual([{ before: 250, deleted: 3, total: 247 }]);
    expect(mergedOf(await nights.run({ list: without(3, 100, 249) }))).toMatchObject({ before: 247, unchanged: 247, deleted: 0 });
    expect(nights.singles).toEqual([]);
    // Single reads find nothing at all, not even rows of the list.
    await nights.run({ list: without(3, 7, 100, 249), single: () => false });
    expect(await nights.ids()).toEqual(idsWithout(3, 100, 249));
  });

  test.each([
    ['more are missing than max_deleted', merging(), all.slice(60)],
    ['more changed than max_changed', merging('max_changed: 1%'), leads(250, () => ({ age: '7' }))],
  ])('publishes nothing when %s', async (_title, body, list) => {
    const db = await database();
    const nights = await nightsIn(db);
    await nights.run({ list: all }, body);
    await expect(nights.run({ list }, body)).rejects.toMatchObject({ code: 'E_GATE_MERGE' });
    expect(await nights.ids()).toEqual(idsWithout());
    expect(await db.query('SELECT count(*)::int AS runs FROM leadstream_runs')).toEqual([{ runs: 1 }]);
  });

  test('deletes more than 1,000 rows after a second pass only, each by its key, whose column has any name', async () => {
    const [db, many] = [await database(), leads(6000)];
    const nights = await nightsIn(db);
    const body = merging(undefined, '  - rename: { lead_id: is_unread }').replace('[lead_id', '[is_unread');
    const proving = body.replace('\n', '\nconsistency: prove\n');
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

  test.each(['keep', 'delete'])('adds marks to a table that was merged into, and %s ends those of rows that return', async (other) => {
    const [nights, accepted] = [await nightsIn(await database()), { acceptDeletes: true }];
    await nights.run({ list: all }, marking.replace('mark', 'keep'));
    expect(mergedOf(await nights.run({ list: without(3, 100) }, marking, accepted))).toMatchObject({ unchanged: 248, marked: 2 });
    expect(mergedOf(await nights.run({ list: without(3) }, marking.replace('mark', other), accepted))).toMatchObject({ changed: 1 });
    expect(await nights.ids('WHERE deleted_at IS NOT NULL')).toEqual(other === 'keep' ? [3] : []);
    expect(await nights.ids('WHERE deleted_at IS NULL')).toEqual(idsWithout(3));
    await nights.run({ list: all }, marking.replace('merge', 'append').replace('on_missing: mark, ', ''));
    await nights.run({ list: all }, marking.replace('mark', other), accepted);
    expect(await nights.ids('WHERE deleted_at IS NULL')).toEqual(idsWithout());
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

const statuses = ['sold', 'a\tb\\N', "it's", '', 'returned'];
const isPassed = (row?: Lead) => row !== undefined && row['lead_status'] !== 'returned';

inPostgres('nights at random of a table of PostgreSQL', (database) => {
  const isRandom = process.env['TEST_DRAWS'] === 'random';
  const seeds = isRandom ? Array.from({ length: 40 }, () => Math.floor(Math.random() * 1e6)) : [1, 2, 3, 4];
  test.each(seeds)('leave the rows of a plain model, and its counts (seed %s)', async (seed) => {
    const onMissing = seed % 2 === 1 ? 'delete' : 'mark';
    const random = seeded(seed);
    const below = (most: number) => Math.floor(random() * most);
    const db = await database();
    const nights = await nightsIn(db);
    const body = merging(`on_missing: ${onMissing}, max_deleted: 40%`, `  - filter: "lead_status != 'returned'"`);
    const draw = (id: number) => lead(id, { age: String(20 + below(2)), lead_status: statuses[below(statuses.length)] ?? '' });
    let source: ReadonlyMap<string, ReturnType<typeof lead>> = new Map();
    const [model, marked] = [new Map<string, string>(), new Set<string>()];

    /** Does to the model what a night should do to the table. */
    const merge = (mode: string, list: readonly Lead[], hidden: ReadonlySet<string>) => {
      const counts = { before: model.size, inserted: 0, changed: 0, unchanged: 0, deleted: 0, marked: 0 };
      for (const { lead_id, age, lead_status } of list.filter(isPassed)) {
        const [id, row] = [String(lead_id), JSON.stringify([lead_id, age, lead_status])];
        const [isNew, isSame] = [!model.has(id), model.get(id) === row && !marked.has(id)];
        if (isNew) counts.inserted += 1;
        else if (!isSame) counts.changed += 1;
        if (isSame || (!isNew && mode === 'append')) counts.unchanged += 1;
        if (!isNew && mode === 'append') continue;
        model.set(id, row);
        marked.delete(id);
      }
      for (const id of mode === 'merge' ? [...model.keys()] : []) {
        if (hidden.has(id) || marked.has(id) || isPassed(source.get(id))) continue;
        if (onMissing === 'mark') marked.add(id);
        else model.delete(id);
        counts[onMissing === 'mark' ? 'marked' : 'deleted'] += 1;
      }
      return counts;
    };

    for (let night = 0; night < 14; night += 1) {
      const before = source;
      const old = [...source.values()].filter(() => random() > 0.1).map((row) => (random() < 0.2 ? draw(Number(row.lead_id)) : row));
      const fresh = Array.from({ length: night === 0 ? 40 : below(8) }, () => draw(below(60)));
      source = new Map([...old, ...fresh].sort(() => random() - 0.5).map((row) => [row.lead_id, row]));
      const isKept = (id: string) => model.has(id) && !marked.has(id);
      // Rows that the list hides from one night to the next, but single reads find.
      const hidden = new Set([...source.keys()].filter((id) => isKept(id) && random() < 0.05));
      const list = [...source.values()].filter((row) => !hidden.has(row.lead_id));
      const mode = night > 0 && below(5) === 0 ? 'append' : 'merge';
      const isMissing = [...model.keys()].some((id) => isKept(id) && !list.some((row) => row.lead_id === id));
      const isBusy = mode === 'merge' && isMissing && below(4) === 0;
      const text = body.replace(/mode: merge(.*on_missing: )\w+/, mode === 'append' ? 'mode: append$1keep' : '$&');
      const options = { acceptDeletes: true, allowShrink: true };
      const run = nights.run({ list, single: (id) => (isBusy ? 503 : source.has(id)) }, text, options);
      if (isBusy) {
        await expect(run).rejects.toMatchObject({ code: 'E_SOURCE_UNAVAILABLE' });
        source = before;
      } else {
        await run;
        const counts = merge(mode, list, hidden);
        const [ledger] = await db.query('SELECT * FROM leadstream_runs ORDER BY number DESC LIMIT 1');
        const found = Object.fromEntries(Object.keys(counts).map((name) => [name, Number(ledger?.[name])]));
        expect({ night, ...found }).toEqual({ night, ...counts });
        expect(ledger).toMatchObject({ mode, total: String(model.size) });
      }
      const mark = onMissing === 'mark' ? 'deleted_at IS NOT NULL' : 'false';
      const rows = await db.query(`SELECT json_build_array(lead_id, age::text, lead_status) AS row, ${mark} AS marked FROM leads`);
      const seen = rows.map((row) => JSON.stringify([JSON.stringify(row['row']), row['marked']])).sort();
      const expected = [...model].map(([id, row]) => JSON.stringify([row, marked.has(id)])).sort();
      expect({ night, seen }).toEqual({ night, seen: expected });
    }
  });
});
