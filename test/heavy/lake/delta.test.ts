import { describe, expect } from '@jest/globals';
import { itemAt, type OutputColumn, type Row } from '../../../src/core/index.js';
import { columns, DeltaTable, printed, row } from '../../support/format-table.js';
import { output } from '../../support/parquet-files.js';
import { pythonReaders } from '../../support/python.js';

const { testByReaders, python } = pythonReaders('test/readers/delta.py', 'deltalake, polars, pyarrow, duckdb, duckdb_extension_delta');

type Printed = readonly Readonly<Record<string, unknown>>[];

const readers = ['delta-rs', 'arrow', 'polars', 'duckdb'];

describe('a Delta table', () => {
  testByReaders('has in every version what the readers of Delta should read', async () => {
    const table = await DeltaTable.onDisk();
    const expected: [rows: readonly Row[], of?: readonly OutputColumn[]][] = [];
    const first = [row('a', 'a b'), row('b', 'a%20b'), row('c', null), row('d', 'ü/ö=?#&+'), row('e', 'NULL'), row('e2', "it's")];
    await table.run('run-0', first);
    expected.push([first]);

    const late = [...columns, output('late', 'text')];
    const more = [row('f', 'a b', { late: 'x' }), row('g', 'ZZ', { late: null })];
    await table.run('run-1', more, { mode: 'append', columns: late });
    expected.push([[...first, ...more], late]);

    const changed = [row('h', 'a b'), row('i', null)];
    await table.run('run-2', changed, { mode: 'replace_partitions', columns: late, fileRows: 1 });
    expected.push([[...first.filter(({ id }) => id !== 'a' && id !== 'c'), ...more.slice(1), ...changed], late]);

    await table.run('run-3', [row('j', 'ZZ'), row('k', 'a b')], { mode: 'append', columns: late });
    expected.push([[...itemAt(expected, 2)[0], row('j', 'ZZ'), row('k', 'a b')], late]);

    await python('optimize', table.root);
    expected.push(itemAt(expected, 3));
    const compacted = await table.format.load();
    expect(compacted).toMatchObject({ sequence: 4, current: { run: 'run-3', sha256: 'digest of run-3' } });
    expect(compacted?.files.filter(({ folder }) => folder === 'state=ZZ')).toHaveLength(1);

    await table.run('run-4', [row('l', 'a b')], { mode: 'replace_partitions', columns: late });
    expected.push([[...itemAt(expected, 3)[0].filter(({ state }) => state !== 'a b'), row('l', 'a b')], late]);

    const retyped = [output('id', 'text'), output('n', 'text'), output('state', 'text')];
    await table.run('run-5', [{ id: 'm', n: 'x', state: 'a' }], { columns: retyped });
    expected.push([[{ id: 'm', n: 'x', state: 'a' }], retyped]);

    const empty = await table.run('run-6', [], { columns: retyped });
    expected.push([[], retyped]);

    expect(empty.kept.map(({ run }) => run)).toEqual(['run-5', 'run-4']);
    const restored = await table.format.restore(empty, 'run-4');
    expected.push(itemAt(expected, 5));
    expect(restored.kept.map(({ run }) => run)).toEqual(['run-6', 'run-5']);
    expect(await table.format.load()).toEqual(restored);
    await table.run('run-7', [row('n', 'a b')], { mode: 'append', columns: late });
    expected.push([[...itemAt(expected, 5)[0], row('n', 'a b')], late]);

    const found = JSON.parse(await python('read', table.root, ...[...expected.keys()].map(String))) as Record<string, Printed>;
    for (const [version, [rows, of]] of expected.entries())
      for (const reader of readers)
        expect([version, reader, found[`${version} ${reader}`]]).toEqual([version, reader, printed(rows, of ?? columns)]);
  });

  testByReaders('is skipped by no predicate that has rows: bounds of every type, partitions of every type', async () => {
    const long = '😀'.repeat(40);
    const notes = [
      '',
      "it's",
      long,
      `${long}x`,
      '\u{10ffff}'.repeat(40),
      'x'.repeat(70),
      `${'x'.repeat(63)}\uffff${'y'.repeat(9)}`,
      'ä\x01',
      null,
    ];
    const numbers = [-(2n ** 63n), 2n ** 63n - 1n, 0n, null, 2n ** 53n + 1n, 7n, -7n, 8n, 9n];
    const decimals = [-0, 0, 1e300, -5e-324, 0.1, null, 2.5, -1, 3];
    // In the years that a literal of delta-rs can have.
    const times = ['1678-01-02T00:00:00.001Z', '1969-12-31T23:59:59.999Z', '2024-01-31T00:00:00.123Z', '2261-12-30T23:59:59.999Z'];
    const days = ['0001-01-02', '1582-10-10', null, '9999-12-30'];
    const rows = notes.map((note, index) => {
      const at = times[index] === undefined ? null : new Date(itemAt(times, index));
      const day = days[index] ? new Date(itemAt(days, index) ?? '') : null;
      const ok = [true, false, null][index % 3] ?? null;
      return { id: `r${index}`, state: 'a', note, n: numbers[index] ?? null, x: decimals[index] ?? null, ok, at, day };
    });
    const table = await DeltaTable.onDisk();
    const version = await table.run('run-0', rows, { by: [], fileRows: 1 });
    expect(version.files).toHaveLength(rows.length);
    const none = Object.fromEntries(readers.map((reader) => [reader, []]));
    expect(JSON.parse(await python('predicates', table.root))).toEqual(none);

    for (const options of [{ fileRows: 2 }, { known: 'nothing' }] as const) {
      const other = await DeltaTable.onDisk();
      await other.run('run-0', rows, { by: [], ...options });
      expect(JSON.parse(await python('predicates', other.root))).toEqual(none);
    }

    const parted = await DeltaTable.onDisk();
    const some = rows.slice(0, 7).map((each) => ({
      ...each,
      x: each.x === null ? null : each.x + 0,
      note: each.note === '' ? 'b' : (each.note?.slice(0, 40) ?? null),
    }));
    const by = ['at', 'day', 'n', 'x', 'ok', 'note'];
    const { files } = await parted.run('run-0', some, { by });
    expect(files.map(({ folder }) => folder)).toEqual(some.map((each) => parted.folderOf(each, { by })));
    const found = JSON.parse(await python('read', parted.root, '0')) as Record<string, Printed>;
    for (const reader of readers) expect([reader, found[`0 ${reader}`]]).toEqual([reader, printed(some, columns)]);
    expect(JSON.parse(await python('predicates', parted.root))).toEqual(none);
  });
});
