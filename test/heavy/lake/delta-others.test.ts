import { expect } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyTable } from '../../../src/lake/index.js';
import { compactTable, rollbackTable } from '../../../src/run/index.js';
import { parquet } from '../../../src/sinks/index.js';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { pythonReaders } from '../../support/python.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { columns, rowsOf, Tested } from '../../support/tested-table.js';
import { temporaryFolder } from '../../support/temporary.js';

const { testByReaders, python } = pythonReaders('test/readers/delta.py', 'deltalake, polars, pyarrow, duckdb, duckdb_extension_delta');
const by = { partition_by: ['day'], keep: 5 };
const nights = () => Tested.ofNights('delta', 'folder', by);

const verify = async (table: Tested) => expect((await verifyTable(table.path, table.options)).differences).toEqual([]);

/** What leadstream does to the table, and the rows after it. */
const verbs: readonly (readonly [string, string, (table: Tested) => Promise<unknown>])[] = [
  ['append', 'abcdef', (table) => table.run({ ...by, mode: 'append' }, rowsOf('20240102', 'e', 'f'))],
  ['replace', 'xy', (table) => table.run({ ...by, mode: 'replace' }, rowsOf('20240103', 'x', 'y'))],
  ['replace_partitions', 'abx', (table) => table.run({ ...by, mode: 'replace_partitions' }, rowsOf('20240102', 'x'))],
  ['rollback', 'abcd', (table) => rollbackTable(table.path, table.options)],
  ['compact', 'abcde', (table) => compactTable(table.path, table.options)],
  ['verify', 'abcde', verify],
];

type Fields = readonly Readonly<Record<string, unknown>>[];

const logKey = (version: number) => `_delta_log/${String(version).padStart(20, '0')}.json`;
const commitAt = async ({ objects }: Tested, version: number) => String((await objects.read(logKey(version)))?.bytes);

/** Commits other columns, as no program here does without column mapping. */
function schema(change: (fields: Fields) => Fields) {
  return async (table: Tested) => {
    const [, , line = ''] = (await commitAt(table, 0)).split('\n');
    const { metaData } = JSON.parse(line) as { metaData: { schemaString: string } };
    const { fields } = JSON.parse(metaData.schemaString) as { fields: Fields };
    const schemaString = JSON.stringify({ type: 'struct', fields: change(fields) });
    const actions = [{ commitInfo: { operation: 'CHANGE COLUMN' } }, { metaData: { ...metaData, schemaString } }];
    await table.objects.put(logKey(5), actions.map((action) => `${JSON.stringify(action)}\n`).join(''));
  };
}

const n = (more: object) => (field: Fields[number]) => (field['name'] === 'n' ? { ...field, ...more } : field);

/** What others do, by delta-rs or by a commit; why it is refused, and what they leave to do. */
const others: readonly (readonly [string, (((table: Tested) => Promise<void>) | undefined)?, RegExp?, (readonly string[])?])[] = [
  ['properties'],
  ['appendOnly', undefined, /delta\.appendOnly/, ['append', 'compact', 'verify']],
  ['enableExpiredLogCleanup', undefined, /delta\.enableExpiredLogCleanup .* set it to false/],
  ['enableChangeDataFeed', undefined, /minWriterVersion":4/],
  ['constraint', undefined, /minWriterVersion":3/],
  ['comment'],
  ['column'],
  ['required column', undefined, /column late cannot be null/],
  ['reorder', schema((fields) => fields.toReversed())],
  ['rename', schema((fields) => fields.map(n({ name: 'm' }))), /column n was renamed, dropped/],
  ['drop', schema((fields) => fields.filter(({ name }) => name !== 'n')), /column n was renamed, dropped/],
  ['retype', schema((fields) => fields.map(n({ type: 'string' }))), /column n was .* another type/],
  ['invariant', schema((fields) => fields.map(n({ metadata: { 'delta.invariants': '{}' } }))), /delta\.invariants/],
  ['feature', undefined, /protocol .*deletionVectors/],
  ['delete', undefined, /\(DELETE\)/],
  ['append', undefined, /\(WRITE\)/],
  ['restore', undefined, /\(RESTORE\)/],
  ['optimize'],
  ['vacuum'],
];

/** What stays of it in the table. */
const stay: Readonly<Record<string, readonly string[]>> = { comment: ['The night.'], properties: ['"nights"', 'All nights.', '60 days'] };

testByReaders('a Delta table that others changed has all rows after every verb, or the verb refuses it by name', async () => {
  const expected = new Map<string, string>();
  const late = new Set<string>();
  for (const [name, change, why, left = why ? [] : verbs.map(([verb]) => verb)] of others) {
    const tables = await Promise.all(verbs.map(nights));
    if (change) await Promise.all(tables.map(change));
    else await python(name, ...tables.map(({ path }) => path));
    for (const [index, table] of tables.entries()) {
      const [verb = '', ids = '', run = verify] = verbs[index] ?? [];
      const log = await table.keys('_delta_log/');
      const outcome = run(table).then(() => 'accepted');
      const place = `${name} ${verb} ${table.path}`;
      if (!left.includes(verb)) {
        await expect(outcome).rejects.toMatchObject({ message: expect.stringMatching(why ?? /^$/) });
        expect([place, await table.keys('_delta_log/')]).toEqual([place, log]);
        continue;
      }
      expect([place, await outcome.catch(String)]).toEqual([place, 'accepted']);
      expected.set(place, ids);
      if (name === 'column') late.add(table.path);
      const metaData = JSON.stringify(Reflect.get(Object((await table.version()).state), 'current'));
      for (const text of stay[name] ?? []) expect([place, metaData]).toEqual([place, expect.stringContaining(text)]);
    }
    if (name !== 'enableExpiredLogCleanup') continue;
    await python('cleanup off', ...tables.map(({ path }) => path));
    for (const table of tables) await verify(table);
  }
  const paths = [...expected.keys()].map((place) => place.slice(place.indexOf('/')));
  const found = JSON.parse(await python('rows', ...paths)) as Readonly<Record<string, string | readonly { id: string; late?: null }[]>>;
  for (const [place, ids] of expected)
    for (const reader of ['delta-rs', 'duckdb']) {
      const path = place.slice(place.indexOf('/'));
      const rows = found[`${path} ${reader}`] ?? [];
      const seen = typeof rows === 'string' ? rows : rows.map(({ id, late: more }) => `${id}${more === null ? '?' : ''}`).join('');
      expect([place, reader, seen]).toEqual([place, reader, late.has(path) ? ids.replaceAll(/./g, '$&?') : ids]);
    }
});

testByReaders('a column partitions a Delta table anew only where readers can take the values of all its removed files', async () => {
  const steps: readonly (readonly [by: readonly string[], type: 'text' | 'integer' | 'date', value: string, refused?: true])[] = [
    [['p'], 'integer', '1'],
    [['p'], 'text', 'x'],
    [['p'], 'integer', '2', true],
    [[], 'integer', '3'],
    [['p'], 'date', '20240101', true],
    [['p'], 'text', 'y'],
  ];
  const table = await Tested.at('delta', 'folder');
  for (const [partition_by, type, p, refused] of steps) {
    const log = await table.keys('_delta_log/');
    const run = table.run({ partition_by: [...partition_by] }, [{ id: p, p }], undefined, [
      column('id', 'text', { source: 'id' }),
      column('p', type),
    ]);
    const code = await run.then(
      () => undefined,
      (failure: { code?: string }) => failure.code,
    );
    expect([p, type, code]).toEqual([p, type, refused && 'E_GATE_SCHEMA']);
    if (refused) expect([await table.keys('_delta_log/'), await table.keys('_leadstream/intents/')]).toEqual([log, []]);
    const last = refused ? undefined : [expect.objectContaining({ id: p })];
    if (last)
      expect(JSON.parse(await python('rows', table.path))).toEqual({ [`${table.path} delta-rs`]: last, [`${table.path} duckdb`]: last });
  }
});

testByReaders('what files prints is one table, also where its path is a pattern that fits others', async () => {
  const folder = await temporaryFolder();
  for (const name of ['a[1]', 'a*', 'a?', 'a{1,2}', 'a1', '[!b]']) {
    const rows = rowsOf('20240101', name);
    await writeAll(parquet({ path: `${name}/t`, partition_by: ['day'] }, recording(folder)), columns, rows);
    // Readers that take a pattern for a path fail loudly unless something else fits.
    await mkdir(join(folder, name, 'x'));
    await writeFile(join(folder, name, 'x/y.parquet'), '');
  }
  for (const name of ['a[1]', 'a*', 'a?', 'a{1,2}', '[!b]']) {
    const printed = async (reader: string) =>
      (await cli(['files', join(folder, name, 't'), '--for', reader], { cwd: folder })).stdout.trim();
    expect((await duckdb(await printed('duckdb'))).map(({ id }) => id)).toEqual([name]);
    expect(await python('polars', await printed('polars'))).toBe(name);
    expect(await printed('spark')).toContain(name.replaceAll(/[*?[\]{}]/g, String.raw`\\$&`));
  }
  await writeAll(parquet({ path: '{b}/d', table: 'delta' }, recording(folder)), columns, rowsOf('20240101', 'd'));
  const unread = await cli(['files', join(folder, '{b}/d'), '--for', 'polars'], { cwd: folder });
  expect(unread).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Polars finds no Delta table') });
});
