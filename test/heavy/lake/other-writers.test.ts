import { expect } from '@jest/globals';
import type { Row } from '../../../src/core/index.js';
import { verifyTable } from '../../../src/lake/index.js';
import { compactTable, rollbackTable } from '../../../src/run/index.js';
import { pageOf } from '../../support/pages.js';
import { pythonReaders } from '../../support/python.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { seaweedfs, warehouse } from '../../support/seaweedfs.js';
import { column, facts } from '../../support/sinks.js';
import { columns, type Kind, type Place, rowsOf, Tested } from '../../support/tested-table.js';

const delta = pythonReaders('test/readers/delta.py', 'deltalake, polars, pyarrow, duckdb, duckdb_extension_delta');
const { testByReaders, python } = pythonReaders(
  'test/readers/iceberg.py',
  'pyiceberg, pyiceberg_core, sqlalchemy, pyarrow, duckdb, duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs',
);

/** What others see of a table: the rows by runs and the current ones, and all that a run must not change. */
interface State {
  readonly rows: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  readonly columns: readonly string[];
}

/** Changes tables by pyiceberg. */
async function others(changes: readonly (readonly [table: Tested, what: string])[]): Promise<readonly State[]> {
  const { catalog } = await seaweedfs();
  const names = changes.map(([table, what]) => [table.catalog?.name, what]);
  return JSON.parse(await python('others', catalog, warehouse, 'writer:writer-secret', JSON.stringify(names))) as State[];
}

/** As `a bx`: the row b has x in the column that others added. */
function brief(rows: State['rows'][string] = []): string {
  return rows
    .map(({ id, late }) => `${String(id)}${typeof late === 'string' ? late : ''}`)
    .sort()
    .join(' ');
}

const options = { partition_by: ['day'], keep: 9 } as const;
const [one, two] = ['20240101', '20240102'];

/** What is done, one after the other, to a table that others changed after two nights with the rows `a b c` and `d`. */
const ways: readonly (readonly [name: string, way: (table: Tested) => Promise<unknown>])[] = [
  ['verify', async ({ path }) => expect((await verifyTable(path)).differences).toEqual([])],
  ['compact', (table) => compactTable(table.path, table.options)],
  ['append', (table) => table.run({ ...options, mode: 'append' }, rowsOf(one, 'e', 'b'))],
  ['replace_partitions', (table) => table.run({ ...options, mode: 'replace_partitions' }, rowsOf(one, 'f'))],
  ['replace', (table) => table.run({ ...options, mode: 'replace' }, rowsOf(one, 'a', 'g'))],
  ['rollback', ({ path }) => rollbackTable(path, { to: 'run-0001' })],
];
const runs = ['run-0003', 'run-0004', 'run-0005', 'current'];

/** By what others did: what the ways say, and the rows after each run and the rollback. */
const [fits, changed] = [[], ['compact', 'append', 'replace_partitions', 'replace']];
const counted: readonly string[] = ['verify'];
type Outcome = readonly [refused: readonly string[], reason: RegExp, ...rows: readonly string[]];
const replaced: Outcome = [
  ['verify', 'compact', 'append', 'replace_partitions', 'rollback'],
  /E_SINK_FOREIGN.*(?:no run has committed there|run once with mode: replace)|E_SINK_RUN.* no kept run run-0001/,
  'a g',
  'a g',
];
const outcomes: Readonly<Record<string, Outcome>> = {
  rename: [changed, /E_SINK_FOREIGN.* the column n is now renamed;/, 'a b c'],
  key: [changed, /E_SINK_FOREIGN.* the column id is now renamed;/, 'a b c'],
  drop: [changed, /E_SINK_FOREIGN.* the column n is no longer there;/, 'a b c'],
  retype: [changed, /E_SINK_FOREIGN.* the column n is no longer there;/, 'a b c'],
  add: [fits, /^$/, 'ax bx cx dx e', 'cx f', 'a g', 'a b c'],
  reorder: [fits, /^$/, 'a b c d e', 'c f', 'a g', 'a b c'],
  identify: [fits, /^$/, 'a b c d e', 'c f', 'a g', 'a b c'],
  spec: [changed, /E_GATE_SCHEMA.* it is partitioned by identity\(day\) as day, identity\(n\) as n,/, 'a b c'],
  'spec of no file': [changed, /E_GATE_SCHEMA.* it is partitioned by identity\(day\) as day, identity\(n\) as n,/, 'a b c'],
  'sort order': [fits, /^$/, 'a b c d e', 'c f', 'a g', 'a b c'],
  refs: [fits, /^$/, 'a b c d e', 'c f', 'a g', 'a b c'],
  properties: [fits, /^$/, 'a b c d e', 'c f', 'a g', 'a b c'],
  'rows deleted': [counted, /the manifest says 4 rows, but its files have 3/, 'b c d e', 'c f', 'a g', 'a b c'],
  'rows appended': [counted, /the manifest says 4 rows, but its files have 5/, 'a b c d e z', 'c f', 'a g', 'a b c'],
  compacted: [fits, /^$/, 'a b c d e', 'c f', 'a g', 'a b c'],
  'compacted under other names': [fits, /^$/, 'a b c d e', 'c f', 'a g', 'a b c'],
  expired: [['rollback'], /E_SINK_RUN.* no kept run run-0001/, 'a b c d e', 'c f', 'a g', 'a g'],
  'expired, as an earlier release left it': replaced,
  'expired, without a column': replaced,
};

/** What a rollback undoes, because it returns to the columns and partitions of a run. */
const undone = /^(?:rename|key|drop|retype|spec.*)$/;

inSeaweedFS('a table of Iceberg that others write, too', () => {
  testByReaders(
    'keeps what they made of it, or refuses by name what would change the meaning of rows',
    async () => {
      const tables: (readonly [table: Tested, what: string])[] = [];
      for (const what of Object.keys(outcomes)) {
        const table = await Tested.at('iceberg', 'catalog');
        await table.run({ ...options, mode: 'replace' }, [...rowsOf(one, 'a', 'b'), ...rowsOf(two, 'c')]);
        await table.run({ ...options, mode: 'append' }, rowsOf(one, 'd'));
        tables.push([table, what]);
      }
      const unchanged = await others([...tables.slice(0, 1).map(([table]) => [table, ''] as const)]);
      const before = await others(tables);
      const said: [refused: string[], reasons: string[]][] = [];
      for (const [table] of tables) {
        const [refused, reasons]: [string[], string[]] = [[], []];
        for (const [name, way] of ways)
          await way(table).catch((failure: unknown) => {
            refused.push(name);
            reasons.push(`${String(Reflect.get(Object(failure), 'code'))} ${String(failure)}`);
          });
        said.push([refused, reasons]);
      }
      const after = await others(tables.map(([table]) => [table, '']));
      for (const [index, [, what]] of tables.entries()) {
        const [refused = [], reason = /^$/, ...rows] = outcomes[what] ?? [];
        const [names = [], reasons = []] = said[index] ?? [];
        const { rows: found = {}, ...about } = after[index] ?? {};
        expect({ what, names, rows: runs.flatMap((run) => (found[run] ? [brief(found[run])] : [])) }).toEqual({
          what,
          names: refused,
          rows,
        });
        for (const each of reasons) expect(each).toMatch(reason);
        const { rows: _, columns: known = [], ...kept } = (undone.test(what) ? unchanged[0] : before[index]) ?? {};
        const returned = what === 'expired, without a column' ? [expect.stringContaining('4: n: optional long')] : [];
        expect({ what, ...about }).toEqual({ what, ...kept, columns: [...known, ...returned] });
      }
    },
    900_000,
  );

  testByReaders(
    'is no table to read only the end of a list for, once it has other rows than the runs left',
    async () => {
      const table = await Tested.at('iceberg', 'catalog');
      const since = { run: 'run-0001', of: '', whole: '2026-03-01T00:00:00.000Z' };
      const first = await table.open({ mode: 'append' });
      await first.begin(columns);
      await first.write(pageOf(1, rowsOf(one, 'a', 'b')));
      const prepared = await first.prepare();
      await prepared.actions({ ...facts, since });
      await prepared.commit?.(false);
      await prepared.cleanup();
      const found = async () => {
        const next = await table.open({ mode: 'append' });
        await next.abort();
        return next.earlier?.since;
      };
      expect(await found()).toEqual(since);
      await others([[table, 'rows deleted']]);
      expect(await found()).toBeUndefined();
    },
    120_000,
  );

  testByReaders(
    'is adopted as they created it, where rows, columns and partitions fit',
    async () => {
      const table = await Tested.at('iceberg', 'catalog');
      const [created] = await others([[table, 'create']]);
      const run = (given: object, rows: readonly Row[] = rowsOf(one, 'a'), of = columns) =>
        table.run({ ...options, ...given }, rows, undefined, of);
      await expect(run({ partition_by: [] })).rejects.toMatchObject({
        code: 'E_GATE_SCHEMA',
        message: expect.stringContaining('by identity(day) as day'),
      });
      const [id = column('id'), day = column('day')] = columns;
      await expect(run({}, undefined, [id, day])).rejects.toMatchObject({
        code: 'E_GATE_SCHEMA',
        message: expect.stringContaining('its column n has'),
      });
      await expect(run({}, undefined, [id, day, column('n')])).rejects.toMatchObject({
        code: 'E_GATE_SCHEMA',
        message: expect.stringContaining('"long"'),
      });
      await expect(run({}, [{ id: 'a', day: one, n: null }])).rejects.toMatchObject({
        code: 'E_SINK_VALUE',
        message: expect.stringContaining('values of n'),
      });
      await run({});
      await run({ mode: 'append' }, rowsOf(two, 'b'));
      const [{ rows, ...about } = { rows: {}, columns: [] }] = await others([[table, '']]);
      expect(brief(rows['current'])).toBe('a b');
      const { rows: _, ...kept } = created ?? {};
      const uncommented = about.columns.map((text) => text.replace(/ \(computed.*/, ''));
      expect({ ...about, columns: uncommented, refs: {} }).toEqual(kept);
      await table.check();
    },
    120_000,
  );
});

/** Another writer gives a table other files with the same rows while a run is open. */
const rewriters: readonly (readonly [Kind, Place, typeof delta.testByReaders, (table: Tested) => Promise<unknown>])[] = [
  ['delta', 'folder', delta.testByReaders, ({ path }) => delta.python('optimize', path)],
  [
    'iceberg',
    'catalog',
    testByReaders,
    ({ catalog: { uri, warehouse = '', credential = '', name } = { uri: '', name: '' } }) =>
      python('overwrite', uri, warehouse, credential, name),
  ],
];
inSeaweedFS('a table', () => {
  for (const [kind, place, testBy, rewrite] of rewriters)
    for (const mode of ['append', 'replace'] as const)
      testBy(`(${kind}) in a ${place} neither loses nor doubles rows when it is rewritten while a run is open to ${mode}`, async () => {
        const table = await Tested.at(kind, place);
        for (const id of ['a', 'b']) await table.run({ mode: 'append' }, rowsOf('20240101', id));
        const open = await table.open({ mode });
        await open.begin(columns);
        await open.write(pageOf(1, rowsOf('20240101', 'c')));
        const prepared = await open.prepare();
        await prepared.actions(facts);
        await rewrite(table);
        await expect(prepared.commit?.(false)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
        await open.abort();
        expect(await table.rows()).toEqual(['a', 'b']);
        await table.run({ mode: 'append' }, rowsOf('20240101', 'a', 'c'));
        expect(await table.rows()).toEqual(['a', 'b', 'c']);
        await table.check();
      });
});
