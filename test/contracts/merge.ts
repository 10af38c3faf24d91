import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Row } from '../../src/core/index.js';
import { tableRuns, verifyTable } from '../../src/lake/index.js';
import { keysKey } from '../../src/lake/store-table.js';
import { compactTable, rollbackTable } from '../../src/run/index.js';
import type { ParquetOptions } from '../../src/sinks/index.js';
import { isRemote } from '../../src/store/index.js';
import { pageOf } from '../support/pages.js';
import { seeded } from '../support/seeded.js';
import { column } from '../support/sinks.js';
import { type Kind, type Place, Tested } from '../support/tested-table.js';

const columns = [
  ...[column('id', 'text', { source: 'id' }), column('state'), column('day', 'date'), column('at', 'timestamp')],
  ...[column('n', 'integer'), column('x', 'decimal'), column('flag', 'flag'), column('note')],
];
const later = [...columns, column('extra')];

/** What nights do that are not merged into, or not as usual. */
const rarer = ['same', 'compact', 'rollback', 'index', 'append', 'replace', 'failed', 'column'];

/** Values that are easily taken for others. */
const values: Readonly<Record<string, readonly (string | null)[]>> = {
  state: ['NY', 'null', null, 'a=b/c', 'ny'],
  day: ['20240131', '20240201', ''],
  at: ['1700000000', '1700000001', ''],
  n: ['9223372036854775807', '-1', '', '0'],
  x: ['-0', '1e300', '', '0.1'],
  flag: ['yes', 'no', ''],
  note: ['', null, 'ä😀', "it's", '\u{10ffff}', 'x'.repeat(300)],
  extra: [null, 'e'],
};

function isLinked({ kind, path }: Tested): boolean {
  return kind === 'plain' && !isRemote(path);
}

/** The rows as DuckDB reads them. */
async function seen(table: Tested): Promise<readonly unknown[]> {
  return (await table.read()).map(shown).sort();
}

function shown({ id, state, day, at, n, x, flag, note, extra }: Record<string, unknown>): string {
  const date = typeof day === 'string' ? day.slice(0, 10) : null;
  const instant = typeof at === 'string' ? Date.parse(`${at.replace(' ', 'T').slice(0, 19)}Z`) : null;
  const decimal = typeof x === 'string' || typeof x === 'number' ? Number(x) : null;
  return JSON.stringify([id, state ?? null, date, instant, n ?? null, decimal, flag ?? null, note ?? null, extra ?? null]);
}

/** A row of a run as a reader should see it. */
function expected(row: Row): string {
  const text = (name: string) => (row[name] === '' || row[name] === undefined ? null : row[name]);
  const day = text('day') === null ? null : String(row['day']).replace(/(....)(..)(..)/, '$1-$2-$3');
  const at = text('at') === null ? null : Number(row['at']) * 1000;
  const x = text('x') === null ? null : Number(row['x']);
  const flag = text('flag') === null ? null : row['flag'] === 'yes';
  return JSON.stringify([row['id'], row['state'], day, at, text('n'), x, flag, row['note'], row['extra'] ?? null]);
}

/** Nights of a table, and the rows that it should have. */
export class Nights {
  readonly #random: () => number;
  model = new Map<string, Row>();
  readonly #earlier: Map<string, Row>[] = [];
  hasExtra = false;

  constructor(
    readonly table: Tested,
    seed: number,
    readonly options: Partial<ParquetOptions>,
  ) {
    this.#random = seeded(seed);
  }

  get columns() {
    return this.hasExtra ? later : columns;
  }

  draw<T>(from: readonly T[]): T {
    const found = from[Math.floor(this.#random() * from.length)];
    if (found === undefined && from.length === 0) throw new Error('nothing to draw from');
    return found as T;
  }

  isDrawn(share: number): boolean {
    return this.#random() < share;
  }

  value(name: string): string | null {
    const value = this.draw(values[name] ?? [null]);
    // An engine that has no numbers beyond 2^53 rejects such rows.
    return this.options.engine === 'parquetjs-lite' && value === values['n']?.[0] ? '9007199254740991' : value;
  }

  row(id: string): Row {
    return { id, ...Object.fromEntries(this.columns.slice(1).map(({ name }) => [name, this.value(name)])) };
  }

  /** The rows of a night, in any order: of some keys, of which some changed, and new ones. */
  rows(): readonly Row[] {
    const rows: Row[] = [];
    for (const row of this.model.values()) {
      if (this.isDrawn(0.2)) continue;
      const [name] = this.draw(Object.entries(values).filter(([field]) => field !== 'extra' || this.hasExtra));
      const isChanged = this.isDrawn(0.15);
      rows.push(isChanged ? { ...row, [name]: this.value(name) } : row);
    }
    for (let count = Math.floor(this.#random() * 4); count > 0; count -= 1)
      rows.push(this.row(this.draw(['', '0', ' ', 'é']) + String(Math.floor(this.#random() * 60))));
    const known = new Set<unknown>();
    return rows.filter(({ id }) => !known.has(id) && known.add(id)).sort(() => this.#random() - 0.5);
  }

  async merge(rows: readonly Row[]): Promise<void> {
    const { table, model } = this;
    const before = new Map(model);
    const inserted = rows.filter(({ id }) => !before.has(String(id))).length;
    const compared = (row: Row) => expected(this.options.ignore ? { ...row, note: null } : row);
    const isSame = (row: Row) => {
      const known = before.get(String(row['id']));
      return known !== undefined && compared(known) === compared(row);
    };
    const same = rows.filter(isSame).length;
    for (const row of rows) if (!isSame(row)) model.set(String(row['id']), row);
    const sequence = before.size > 0 ? (await table.version()).current?.run : undefined;
    const prepared = await table.run({ ...this.options, mode: 'merge' }, rows, undefined, this.columns);
    const merged = { before: before.size, inserted, changed: rows.length - inserted - same, unchanged: same, deleted: 0 };
    expect(prepared).toMatchObject({ merged, rows: rows.length - same, unchanged: same, total: model.size });
    if (sequence !== undefined && same === rows.length && !this.hasExtra) {
      expect((await table.version()).current?.run).toBe(sequence);
      const [night] = await tableRuns(table.path, { stores: table.stores });
      expect(night).toMatchObject({ run: table.lastRun, state: 'unchanged', manifest: { replaced: sequence } });
    } else this.#earlier.unshift(before);
  }

  async night(): Promise<void> {
    const { table, options } = this;
    const { ignore: _ignore, ...others } = options;
    const what = this.draw(['merge', 'merge', 'merge', 'merge', ...rarer]);
    if (this.model.size === 0) return this.merge(Array.from({ length: 40 }, (_, id) => this.row(String(id))));
    if (what === 'merge') return this.merge(this.rows());
    if (what === 'same') return this.merge([...this.model.values()].filter(() => this.isDrawn(0.7)));
    if (what === 'column') this.hasExtra = true;
    if (what === 'compact') await compactTable(table.path, table.options);
    if (what === 'index') {
      const { current } = await table.version();
      const objects = isLinked(table) ? table.stores.at(join(table.folder, '.t.runs')) : table.objects;
      await objects.remove([keysKey(current?.run ?? '')]);
      // That run is damaged.
      this.#earlier.length = 0;
      await this.merge([this.row('new'), ...this.rows().filter(({ id }) => id !== 'new')]);
      this.#earlier.length = 0;
    }
    if (what === 'failed') {
      const writer = await table.open({ ...options, mode: 'merge' });
      await writer.begin(this.columns);
      await writer.write(pageOf(1, this.rows()));
      if (this.isDrawn(0.5)) await writer.prepare();
      await writer.abort();
    }
    if (what === 'append') {
      const rows = this.rows();
      await table.run({ ...others, mode: 'append' }, rows, undefined, this.columns);
      this.#earlier.unshift(new Map(this.model));
      for (const row of rows) if (!this.model.has(String(row['id']))) this.model.set(String(row['id']), row);
    }
    if (what === 'replace') {
      this.#earlier.unshift(new Map(this.model));
      await table.run({ ...others, mode: 'replace' }, [...this.model.values()], undefined, this.columns);
    }
    if (what === 'rollback') await this.#goBack();
    return undefined;
  }

  async #goBack(): Promise<void> {
    const { table } = this;
    const runs = await tableRuns(table.path, { stores: table.stores });
    const published = runs.find(({ state }) => state === 'published')?.manifest;
    const kept = runs.filter(({ state }) => state === 'kept').map(({ run }) => run);
    const last = this.#earlier[0];
    // A compaction, or a run that repeats the one before, is no night of the model.
    if (published?.replaced === undefined || !kept.includes(published.replaced) || published.compacted || !last || last.size === 0) return;
    const before = runs.find(({ run }) => run === published.replaced)?.manifest;
    if (before?.rows !== last.size) return;
    await rollbackTable(table.path, table.options);
    this.#earlier.shift();
    this.model = new Map(last);
    // Its rows may lack the column.
    if (!before.schema.some(({ name }) => name === 'extra')) this.hasExtra = false;
  }

  async check(): Promise<void> {
    expect(await seen(this.table)).toEqual([...this.model.values()].map(expected).sort());
    expect((await verifyTable(this.table.path, { stores: this.table.stores })).differences).toEqual([]);
  }
}

const isRandom = process.env['TEST_DRAWS'] === 'random';

/** @param nights How many random ones, for each seed. */
export function mergeTests(kind: Kind, place: Place, nights = 15): void {
  const seeds = isRandom ? Array.from({ length: 20 }, () => Math.floor(Math.random() * 1e6)) : [1];
  const isPartitioned = (seed: number) => (seed % 2 === 0 ? {} : { partition_by: ['state'] });
  test.each(seeds)('has the rows of a model after each of some random nights that merge (seed %s)', async (seed) => {
    const table = await Tested.at(kind, place);
    const of = new Nights(table, seed, {
      ...isPartitioned(seed),
      ...(seed % 4 === 3 && { ignore: ['note'] }),
      ...(kind !== 'iceberg' && seed % 5 === 4 && { engine: 'parquetjs-lite' as const }),
      row_group_rows: seed % 3 === 0 ? 2 : 10_000,
      sort_by: seed % 3 === 1 && seed % 5 !== 4 ? ['n desc'] : [],
    });
    for (let night = 0; night < nights; night += 1) {
      await of.night();
      await of.check();
    }
  });

  // Runs of linked tables of this machine are killed by processes, in the tests that take long.
  (kind === 'plain' && place === 'folder' ? test.skip : test)(
    'has the rows before or after a merging night that is killed at any moment, and the next night finishes',
    async () => {
      let kills = 0;
      for (let lives = 0, isDead = true; isDead; lives += 1) {
        const table = await Tested.at(kind, place);
        const nights = new Nights(table, lives, { partition_by: ['state'], keep: 1 });
        await nights.merge(Array.from({ length: 9 }, (_, id) => nights.row(String(id))));
        const next = nights.rows();
        let left = lives;
        table.stores.fails = (name) => (left -= name === 'read' || name === 'list' ? 0 : 1) < 0;
        await table.run({ ...nights.options, mode: 'merge' }, next, undefined, columns).catch(() => undefined);
        isDead = left < 0;
        kills += Number(isDead);
        table.stores.fails = () => false;
        const [before, after] = [nights.model, new Map(nights.model)];
        for (const row of next) after.set(String(row['id']), row);
        const found = await seen(table);
        const isAfter = found.length === after.size && found.join() === [...after.values()].map(expected).sort().join();
        nights.model = isAfter ? after : before;
        await nights.check();
        await nights.merge([...next, nights.row('last')]);
        await nights.check();
      }
      expect(kills).toBeGreaterThan(5);
    },
    600_000,
  );

  test('leaves files without a row that changed where they are', async () => {
    const table = await Tested.at(kind, place);
    const options = { partition_by: ['state'] };
    const nights = new Nights(table, 1, options);
    const rows = ['NY', 'CA', 'TX'].flatMap((state) => ['a', 'b', 'c'].map((id) => ({ ...nights.row(`${state}${id}`), state })));
    await nights.merge(rows);
    const namesOf = async () => (await table.version()).files.map(({ name }) => name);
    const before = await namesOf();
    await nights.merge(rows.map((row: Row) => (row['id'] === 'NYa' ? { ...row, n: '42' } : row)));
    const stayed = before.filter((name) => !name.includes('NY'));
    expect(await namesOf()).toEqual(expect.arrayContaining(stayed));
    expect((await namesOf()).filter((name) => name.includes('NY'))).toHaveLength(2);
    await nights.check();
  });

  test('takes the key of several columns one by one, also of folders', async () => {
    const table = await Tested.at(kind, place);
    const options = { partition_by: ['state'], key: ['state', 'note'] };
    const row = (state: string, note: string, n: string): Row => ({ id: 'x', state, note, n });
    await table.run({ ...options, mode: 'merge' }, [row('1:a', 'b', '1'), row('1', ':ab', '2')], undefined, columns);
    const merged = await table.run({ ...options, mode: 'merge' }, [row('1', ':ab', '3'), row('1:a', 'bc', '4')], undefined, columns);
    expect(merged).toMatchObject({ merged: { before: 2, inserted: 1, changed: 1, unchanged: 0 }, total: 3 });
    const twice = table.run({ ...options, mode: 'merge' }, [row('1', 'z', '3'), row('1', 'z', '4')], undefined, columns);
    await expect(twice).rejects.toMatchObject({ code: 'E_SINK_KEY' });
    expect(await seen(table)).toHaveLength(3);
  });
}
