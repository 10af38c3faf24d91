import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Row } from '../../src/core/index.js';
import { tableFiles, tableRuns } from '../../src/lake/index.js';
import { compactTable, rollbackTable } from '../../src/run/index.js';
import { parquet } from '../../src/sinks/index.js';
import { duckdb } from '../support/duckdb.js';
import { column } from '../support/sinks.js';
import { storesAround } from '../support/stores.js';
import { temporaryFolder } from '../support/temporary.js';
import { type Kind, type Place, Tested } from '../support/tested-table.js';

const columns = [
  ...[column('id', 'text', { source: 'id' }), column('day', 'date'), column('n', 'integer'), column('x', 'decimal')],
  ...[column('at', 'timestamp'), column('flag', 'flag')],
];
const later = [...columns, column('note', 'text')];
const texts = ['', 'ä😀', 'null', "it's", '\u{10ffff}'];

/** Rows of a night, of two days and an unknown one, with values that are easily lost, in no order. */
function night(number: number): readonly Row[] {
  return Array.from({ length: 7 }, (_, index) => ({
    id: `${number}-${9 - index}`,
    day: ['20240101', '20240102', ''][index % 3] ?? null,
    n: ['9223372036854775807', '', '-1'][(index + number) % 3] ?? null,
    x: ['-0', '1e300', ''][index % 3] ?? null,
    at: String(1_700_000_000 + number),
    flag: ['yes', 'no', ''][(index + number) % 3] ?? null,
    ...(number > 1 && { note: texts[(index + number) % texts.length] ?? null }),
  }));
}

/** The rows of each partition in the order of the manifest, as DuckDB reads the files. */
async function rowsOf(table: Tested): Promise<unknown> {
  const published = (await tableRuns(table.path)).find(({ state }) => state === 'published');
  const folder = await temporaryFolder();
  const rows: Record<string, unknown[]> = {};
  for (const [index, { name }] of (published?.manifest.files ?? []).entries()) {
    const path = join(folder, `${index}.parquet`);
    await table.objects.download(name, path);
    const partition = name.replace(/^data\/[^/]+\//, '').replace(/[^/]*$/, '');
    const found = await duckdb(`SELECT * FROM read_parquet('${path}', hive_partitioning = false)`);
    (rows[partition] ??= []).push(...found.map((row) => ({ note: null, ...row })));
  }
  return rows;
}

/** What `compact` does with every table. */
export function compactTests(kind: Kind, place: Place): void {
  const append = { mode: 'append', partition_by: ['day'], keep: 5 } as const;

  /** Nights that append, the third with one more column. */
  async function appended() {
    const table = await Tested.at(kind, place);
    for (const number of [0, 1, 2]) await table.run(append, night(number), undefined, number > 1 ? later : columns);
    const { files } = await tableFiles(table.path);
    return { table, files, rows: await rowsOf(table) };
  }

  test('has the same rows in fewer files, and goes on as if it were not', async () => {
    const { table, files, rows } = await appended();
    const { from, to } = await compactTable(table.path, table.options);
    expect([from, files.length, (await tableFiles(table.path)).files.length]).toEqual(['run-0003', 9, 3]);
    expect(await rowsOf(table)).toEqual(rows);
    await table.check();
    expect(await compactTable(table.path, table.options)).toEqual({ from: to, to, evidence: 'sha256' });
    const next = [...night(1), { id: 'new', day: '20240101' }];
    const done = await table.run(append, next, undefined, later);
    expect(done).toMatchObject({ rows: 1, unchanged: 7, changed: 0, total: 22 });
    await table.check();
    // The next run, and the compaction.
    for (const run of [to, 'run-0003']) expect(await rollbackTable(table.path, table.options)).toMatchObject({ to: run });
    expect((await tableFiles(table.path)).files).toEqual(files);
    expect(await rowsOf(table)).toEqual(rows);
    await table.check();
  });

  test('stays as it is when it is stopped, or a file is not what its run wrote', async () => {
    const { table, files } = await appended();
    const stopped = compactTable(table.path, { ...table.options, signal: AbortSignal.abort() });
    await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    const name = (await tableRuns(table.path))[0]?.manifest.files[0]?.name ?? '';
    const bytes = (await table.objects.read(name))?.bytes ?? Buffer.alloc(0);
    bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9);
    await (place === 'folder' ? writeFile(join(table.path, name), bytes) : table.objects.put(name, bytes.toString('latin1')));
    await expect(compactTable(table.path, table.options)).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
    expect((await tableFiles(table.path)).files).toEqual(files);
  });

  test('is left to whoever else writes to it', async () => {
    const { table } = await appended();
    const isLinked = kind === 'plain' && place === 'folder';
    const other = isLinked ? await parquet({ path: table.path }) : undefined;
    const others = ['other'];
    const stores = storesAround(['upload'], async (upload) => {
      for (const id of others.splice(0)) await table.run(append, [{ id, day: '20240101' }], undefined, later);
      return upload();
    });
    await expect(compactTable(table.path, { ...table.options, stores })).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await other?.abort();
    expect((await tableFiles(table.path)).files).toHaveLength(isLinked ? 9 : 10);
    await table.check();
  });

  test('keeps the permissions and the compression of its files', async () => {
    const table = await Tested.at(kind, place);
    const how = { ...append, permissions: '0640', compression: 'snappy' } as const;
    for (const number of [0, 1]) await table.run(how, night(number));
    await compactTable(table.path, table.options);
    const { files } = await tableFiles(table.path);
    const [file = ''] = files;
    if (place === 'folder') expect((await stat(file)).mode & 0o777).toBe(0o640);
    const copy = join(await temporaryFolder(), 'copy.parquet');
    await table.objects.download(
      place === 'folder' && kind === 'plain' ? file.split('/').slice(-2).join('/') : file.slice(table.path.length + 1),
      copy,
    );
    expect(await duckdb(`SELECT DISTINCT compression FROM parquet_metadata('${copy}')`)).toEqual([{ compression: 'SNAPPY' }]);
  });
}
