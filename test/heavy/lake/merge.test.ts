import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from '@jest/globals';
import { isThere, mergeTests, Nights } from '../../contracts/merge.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { pythonReaders } from '../../support/python.js';
import { onServers, Tested } from '../../support/tested-table.js';

const seeds = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

inSeaweedFS('on a server', () => {
  describe.each(onServers)('a table (%s) in a %s', (kind, place) => mergeTests(kind, place));
});

type Printed = readonly Readonly<Record<string, unknown>>[];

const iceberg = pythonReaders(
  'test/readers/iceberg.py',
  'pyiceberg, pyiceberg_core, sqlalchemy, pyarrow, duckdb, duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs',
);
const delta = pythonReaders('test/readers/delta.py', 'deltalake, polars, pyarrow, duckdb, duckdb_extension_delta');

async function afterNights(kind: 'iceberg' | 'delta', by: string, history: boolean) {
  const table = await Tested.at(kind, 'folder');
  const nights = new Nights(table, 7, { partition_by: [by], history, max_changed: '100%' });
  for (let night = 0; night < 4; night += 1)
    await nights.merge(night === 0 ? seeds(0, 40).map((id) => nights.row(String(id))) : nights.rows());
  const seen = nights.versions.map(([boundary, rows]) => ({ time: Date.parse(boundary), rows: some([...rows.values()]) }));
  return { table, nights, seen: [...seen, { time: Infinity, rows: some([...nights.model.values()]) }] };
}

/** The rows at an instant. */
function some(rows: Printed = [], time?: number): Printed {
  const there = rows.filter((row) => isThere(row, time)).map(({ id, state, n }) => ({ id, state, n: n === '' ? null : n }));
  return there.toSorted((one, other) => (String(one.id) < String(other.id) ? -1 : 1));
}

describe.each([false, true])('a table that was merged into (history: %s)', (history) => {
  iceberg.testByReaders('is read by pyiceberg and DuckDB, each night one snapshot without delete files', async () => {
    const { table, seen } = await afterNights('iceberg', 'state', history);
    const { sequence } = await table.version();
    const path = join(table.path, `metadata/v${sequence}.metadata.json`);
    const metadata = JSON.parse(await readFile(path, 'utf8')) as { snapshots: { summary: Record<string, string> }[] };
    const { operation, 'added-delete-files': deletes } = metadata.snapshots.at(-1)?.summary ?? {};
    expect([operation, deletes, metadata.snapshots.length]).toEqual(['overwrite', undefined, 2]);
    const found = JSON.parse(await iceberg.python('read', path, 'main')) as Record<string, { rows: Printed; differences: string[] }>;
    for (const reader of ['pyiceberg main', 'duckdb main'])
      for (const { time, rows } of seen) expect([reader, time, some(found[reader]?.rows, time)]).toEqual([reader, time, rows]);
  });

  delta.testByReaders('goes on after delta-rs compacted it, without its index', async () => {
    // DuckDB takes the folder state=null of delta-rs for null.
    const { table, nights } = await afterNights('delta', 'day', history);
    await delta.python('optimize', table.path);
    await nights.check();
    for (let night = 0; night < 3; night += 1) {
      await nights.merge(nights.rows());
      await nights.check();
    }
  });

  delta.testByReaders('is read by delta-rs, Arrow, Polars and DuckDB, each night one version', async () => {
    const { table, seen } = await afterNights('delta', 'state', history);
    const { sequence } = await table.version();
    expect(sequence).toBe(3);
    const found = JSON.parse(await delta.python('read', table.path, String(sequence))) as Record<string, Printed>;
    for (const reader of ['delta-rs', 'arrow', 'polars', 'duckdb'])
      for (const { time, rows } of seen) expect([reader, time, some(found[`${sequence} ${reader}`], time)]).toEqual([reader, time, rows]);
  });
});
