import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { itemAt, type Row } from '../../src/core/index.js';
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

type Printed = Readonly<Record<string, unknown>>;
type Rows = ReadonlyMap<string, Row>;

/** Whether a row is there at an instant, by its version if it has one; by default now. */
export function isThere({ valid_from: from, valid_to: until }: Printed, time = Infinity): boolean {
  const timeOf = (text: unknown) => (typeof text === 'string' ? Date.parse(text.replace(' ', 'T').replace(/\+00$/, 'Z')) : undefined);
  const end = timeOf(until);
  return (timeOf(from) ?? -Infinity) <= time && (end === undefined || time < end);
}

function shownAt(read: readonly Printed[], time?: number): readonly string[] {
  return read
    .filter((row) => isThere(row, time))
    .map(shown)
    .sort();
}

function shown({ id, state, day, at, n, x, flag, note, extra }: Printed): string {
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

const expectedOf = (rows: Rows = new Map()) => [...rows.values()].map(expected).sort();

/** Nights of a table, and the rows that it should have. */
export class Nights {
  readonly #random: () => number;
  model: Rows = new Map();
  /** With history, the rows since each boundary, the first one first. */
  versions: readonly (readonly [boundary: string, rows: Rows])[] = [];
  /** What the table had after earlier runs, the last one first. */
  readonly #earlier: (Pick<Nights, 'model' | 'versions'> & { readonly run: string | undefined })[] = [];
  hasExtra = false;
  readonly #left: string[] = [];

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
    return itemAt(from, Math.floor(this.#random() * from.length));
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
    const { table, options } = this;
    const before = this.model;
    const last = await this.#kept();
    const inserted = rows.filter(({ id }) => !before.has(String(id))).length;
    const compared = (row: Row) => expected(options.ignore ? { ...row, note: null } : row);
    const isSame = (row: Row) => {
      const known = before.get(String(row['id']));
      return known !== undefined && compared(known) === compared(row);
    };
    const news = rows.filter((row) => !isSame(row));
    const [changed, unchanged] = [news.length - inserted, rows.length - news.length];
    // A version goes on if it changes in a column only that the table did not have.
    const isFresh = this.hasExtra && last?.schema.every(({ name }) => name !== 'extra') === true;
    const extended = news.filter((row) => options.history && isFresh && isSame({ ...row, extra: null }));
    const ends = options.history ? { closed: changed - extended.length } : {};
    const merged = { before: last?.rows ?? 0, inserted, changed, unchanged, deleted: 0, ...ends };
    // Files of versions that ended stay, and otherwise those of folders in which no row changed.
    const touched = news.map(({ id }) => before.get(String(id))?.['state']);
    const untouched = ['NY', 'ny'].filter((state) => !options.history && !touched.includes(state)).map((state) => `state=${state}/`);
    const staying = ['is_current=false/', ...untouched];
    const stays = last ? (await this.#names()).filter((name) => staying.some((folder) => name.includes(folder))) : [];
    const prepared = await table.run({ ...options, mode: 'merge' }, rows, undefined, this.columns);
    const total = merged.before + inserted + (ends.closed ?? 0);
    expect(prepared).toMatchObject({ merged, rows: news.length, unchanged, total });
    this.model = new Map([...before, ...news.map((row) => [String(row['id']), row] as const)]);
    const goesOn = new Map(extended.map((row) => [before.get(String(row['id'])), row]));
    this.versions = this.versions.map(([since, all]) => [since, new Map([...all].map(([id, row]) => [id, goesOn.get(row) ?? row]))]);
    const now = await this.note();
    expect(await this.#names()).toEqual(expect.arrayContaining(stays));
    if (last === undefined || news.length > 0 || isFresh) return;
    expect(now?.run_id).toBe(last.run_id);
    const [night] = await tableRuns(table.path, { stores: table.stores });
    expect(night).toMatchObject({ run: table.lastRun, state: 'unchanged', manifest: { replaced: last.run_id } });
  }

  /** Notes since when the table has the rows of the model. @returns What its last run says. */
  async note() {
    const last = await this.#published();
    const { boundary } = last?.history ?? {};
    if (boundary !== undefined && boundary !== this.versions.at(-1)?.[0]) this.versions = [...this.versions, [boundary, this.model]];
    return last;
  }

  async #names(): Promise<readonly string[]> {
    return (await this.table.version()).files.map(({ name }) => name);
  }

  async #published() {
    const runs = await tableRuns(this.table.path, { stores: this.table.stores });
    return runs.find(({ state }) => state === 'published')?.manifest;
  }

  /** Keeps what a rollback to the last run returns to. @returns What that says. */
  async #kept() {
    const last = this.model.size > 0 ? await this.#published() : undefined;
    this.#earlier.unshift({ run: last?.run_id, model: this.model, versions: this.versions });
    return last;
  }

  async night(): Promise<void> {
    const { table, options } = this;
    const { ignore: _ignore, ...others } = options;
    if (this.model.size === 0) return this.merge(Array.from({ length: 40 }, (_, id) => this.row(String(id))));
    const kinds = rarer.filter((kind) => !options.history || !['append', 'replace'].includes(kind));
    // All have had their turn before any comes again.
    if (this.#left.length === 0) this.#left.push('merge', 'merge', 'merge', 'merge', ...kinds);
    const [what] = this.#left.splice(Math.floor(this.#random() * this.#left.length), 1);
    if (what === 'merge') return this.merge(this.rows());
    if (what === 'same') return this.merge([...this.model.values()].filter(() => this.isDrawn(0.7)));
    if (what === 'column') {
      this.hasExtra = true;
      return this.merge([...this.model.values()].map((row) => (this.isDrawn(0.5) ? { ...row, extra: 'e' } : row)));
    }
    if (what === 'compact') await compactTable(table.path, table.options);
    if (what === 'index') {
      const { current } = await table.version();
      const isLinked = table.kind === 'plain' && !isRemote(table.path);
      const objects = isLinked ? table.stores.at(join(table.folder, '.t.runs')) : table.objects;
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
      await this.#kept();
      await table.run({ ...others, mode: 'append' }, rows, undefined, this.columns);
      this.model = new Map([...rows.map((row) => [String(row['id']), row] as const), ...this.model]);
    }
    if (what === 'replace') {
      await this.#kept();
      await table.run({ ...others, mode: 'replace' }, [...this.model.values()], undefined, this.columns);
    }
    if (what === 'rollback') await this.#goBack();
    return undefined;
  }

  async #goBack(): Promise<void> {
    const { table } = this;
    const runs = await tableRuns(table.path, { stores: table.stores });
    const { manifest } = runs.find(({ state }) => state === 'published') ?? {};
    const to = runs.find(({ run, state }) => state === 'kept' && run === manifest?.replaced);
    const known = this.#earlier.find(({ run }) => run === to?.run);
    // A compaction is no night of the model.
    if (!to || !known) return;
    await rollbackTable(table.path, table.options);
    [this.model, this.versions] = [known.model, known.versions];
    // Its rows may lack the column.
    this.hasExtra &&= to.manifest.schema.some(({ name }) => name === 'extra');
  }

  async check(): Promise<void> {
    const { table, versions } = this;
    const read = await table.read();
    expect(shownAt(read)).toEqual(expectedOf(this.model));
    expect(read.filter(({ is_current: is, ...row }) => (is === false || is === 'false') === isThere(row))).toEqual([]);
    for (const [index, [boundary, rows]] of versions.entries()) {
      const time = Date.parse(boundary);
      expect([boundary, shownAt(read, time)]).toEqual([boundary, expectedOf(rows)]);
      expect([boundary, shownAt(read, time - 1)]).toEqual([boundary, expectedOf(versions[index - 1]?.[1])]);
    }
    expect((await verifyTable(table.path, { stores: table.stores })).differences).toEqual([]);
  }
}

const isRandom = process.env['TEST_DRAWS'] === 'random';

/** @param nights How many random ones, for each seed. */
export function mergeTests(kind: Kind, place: Place, nights = 15): void {
  const drawn = isRandom ? Array.from({ length: 20 }, () => Math.floor(Math.random() * 1e6)) : [1];
  const versions = { history: true, max_changed: '100%' };
  const seeds = drawn.flatMap((seed) => [[seed, {}] as const, [seed, versions] as const]);
  const isPartitioned = (seed: number) => (seed % 2 === 0 ? {} : { partition_by: ['state'] });
  test.each(seeds)('has the rows of a model after each of some random nights that merge (seed %s, %p)', async (seed, more) => {
    const table = await Tested.at(kind, place);
    const of = new Nights(table, seed, {
      ...more,
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

  // Runs of linked tables of this machine are killed by processes, in the tests that take long. On servers, which are slow, versions stay.
  (kind === 'plain' && place === 'folder' ? test.skip : test).each(['folder', 'disk'].includes(place) ? [{}, versions] : [versions])(
    'has the rows before or after a merging night that is killed at any moment, and the next night finishes (%p)',
    async (more) => {
      let kills = 0;
      for (let lives = 0, isDead = true; isDead; lives += 1) {
        const table = await Tested.at(kind, place);
        const nights = new Nights(table, lives, { partition_by: ['state'], keep: 1, ...more });
        await nights.merge(Array.from({ length: 9 }, (_, id) => nights.row(String(id))));
        const next = nights.rows();
        let left = lives;
        table.stores.fails = (name) => (left -= name === 'read' || name === 'list' ? 0 : 1) < 0;
        await table.run({ ...nights.options, mode: 'merge' }, next, undefined, columns).catch(() => undefined);
        isDead = left < 0;
        kills += Number(isDead);
        table.stores.fails = () => false;
        const after = new Map([...nights.model, ...next.map((row) => [String(row['id']), row] as const)]);
        if (shownAt(await table.read()).join() === expectedOf(after).join()) nights.model = after;
        await nights.note();
        await nights.check();
        await nights.merge([...next, nights.row('last')]);
        await nights.check();
      }
      expect(kills).toBeGreaterThan(5);
    },
    600_000,
  );

  const history = { history: true };
  test.each<[string, Partial<ParquetOptions>, Partial<ParquetOptions>, string]>([
    ['history of a table that has none', {}, history, 'E_SINK_CONFIG'],
    ['to lose the history of a table by merging', history, {}, 'E_SINK_CONFIG'],
    ['to lose the history of a table by replacing it', history, { mode: 'replace' }, 'E_SINK_CONFIG'],
    ['versions by another key', history, { ...history, key: ['note'] }, 'E_GATE_SCHEMA'],
    ['new versions of more than half of the rows', history, history, 'E_GATE_MERGE'],
  ])('refuses %s', async (_, before, after, code) => {
    const table = await Tested.at(kind, place);
    const rows = (n: string) => ['a', 'b', 'c'].map((id, index) => ({ id, note: id, n: index > 0 ? n : '0' }));
    await table.run({ mode: 'merge', ...before }, rows('1'), undefined, columns);
    await expect(table.run({ mode: 'merge', ...after }, rows('2'), undefined, columns)).rejects.toMatchObject({ code });
    expect((await verifyTable(table.path, { stores: table.stores })).differences).toEqual([]);
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
    expect(await table.read()).toHaveLength(3);
  });
}
