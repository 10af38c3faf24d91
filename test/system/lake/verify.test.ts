import { describe, expect, test } from '@jest/globals';
import { appendFile, copyFile, cp, link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parquet, type ParquetOptions } from '../../../src/sinks/index.js';
import { RunLog, verifyTable, type Manifest } from '../../../src/lake/index.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

const columns = [column('uid', 'text', { source: 'uid' }), column('state')];

/** A table with two files and a key index, in a folder of its own or a given one. */
async function table(more: Partial<ParquetOptions> = {}, runId = 'run-1', base?: string): Promise<string> {
  const baseDir = base ?? (await temporaryFolder());
  const options = { path: 't', mode: 'append', row_group_rows: 10, file_max_bytes: 1, ...more } as const;
  const rows = Array.from({ length: 20 }, (_, n) => ({ uid: `${runId}-${n}`, state: n < 10 ? 'CA' : 'NY' }));
  const context = { ...recording(baseDir, runId), key: ['uid'], runLog: new RunLog(join(baseDir, 'state')) };
  await writeAll(parquet(options, context), columns, rows);
  return join(baseDir, 't');
}

const part = 'part-00000-run-1.parquet';
const second = 'part-00001-run-1.parquet';
const manifestIn = (path: string) => join(path, '../.t.runs/_leadstream/runs/run-1.json');
const keysIn = (path: string) => join(path, '../.t.runs/_leadstream/runs/run-1.keys.bin');

describe('verifyTable', () => {
  test('finds nothing in a table that is as it was published', async () => {
    const path = await table();
    expect(await verifyTable(path)).toMatchObject({ run: 'run-1', files: 2, rows: 20, differences: [] });
  });

  test.each<[string, (path: string) => Promise<unknown>, string]>([
    ['a missing file', (path) => rm(join(path, part)), `${part} is missing`],
    ['a file that grew', (path) => appendFile(join(path, part), 'x'), ' bytes, but the manifest says '],
    ['a byte that flipped', (path) => flip(join(path, part)), `the contents of ${part} differ from the manifest (SHA-256)`],
    ['a missing key index', (path) => rm(keysIn(path)), 'the key index is missing, or differs from the manifest (SHA-256)'],
    ['a damaged key index', (path) => flip(keysIn(path)), 'the key index is missing, or differs from the manifest (SHA-256)'],
    ['a sum that is wrong', (path) => edit(path, { rows: 21, keys: { rows: 21 } }), 'the manifest says 21 rows, but its files have 20'],
  ])('finds %s', async (_name, damage, difference) => {
    const path = await table();
    await damage(path);
    const { differences } = await verifyTable(path);
    expect(differences).toEqual([expect.stringContaining(difference)]);
  });

  test.each(['more.parquet', 'more.parq', 'MORE.PARQUET', 'more', '.hidden', '_SUCCESS', '_manifest.json', 'state=TX/more.parquet'])(
    'finds a file that somebody added: %s',
    async (name) => {
      const path = await table();
      await mkdir(dirname(join(path, name)), { recursive: true });
      await copyFile(join(path, part), join(path, name));
      expect((await verifyTable(path)).differences).toEqual([`${name} exists, but is not in the manifest`]);
    },
  );

  test('finds folders and links that are not of the table', async () => {
    const path = await table({ partition_by: ['state'] });
    await mkdir(join(path, '../elsewhere'));
    await copyFile(join(path, 'state=CA', part), join(path, '../elsewhere/x.parquet'));
    await symlink('../../elsewhere', join(path, 'state=TX'));
    await symlink(part, join(path, 'state=CA/more'));
    await mkdir(join(path, 'state=AZ/empty'), { recursive: true });
    expect((await verifyTable(path)).differences).toEqual([
      'state=AZ/empty exists (a folder), but is not in the manifest',
      'state=CA/more exists (a link), but is not in the manifest',
      'state=TX exists (a link), but is not in the manifest',
    ]);
  });

  test.each(['.t.runs/run-1/state=CA', `.t.runs/run-1/state=CA/${part}`, '.t.runs/run-1', '.t.runs'])(
    'finds %s replaced by a link to the same',
    async (name) => {
      const path = await table({ partition_by: ['state'] });
      const [replaced, moved] = [join(path, '..', name), join(path, '../moved')];
      await rename(replaced, moved);
      await symlink(moved, replaced);
      const { differences } = await verifyTable(path);
      expect(differences.join('\n')).toMatch(/ exists \(a link\), but is not in the manifest|is a link, so the files are somewhere else/);
    },
  );

  test.each<[string, (path: string) => Promise<unknown>, string]>([
    ['is missing', (path) => rm(path), '_SUCCESS is missing'],
    ['is not empty', (path) => writeFile(path, 'rows'), '_SUCCESS has 4 bytes, but leadstream writes it empty'],
  ])('finds a _SUCCESS that %s where it was asked for', async (_what, damage, difference) => {
    const path = await table({ success_file: true });
    expect((await verifyTable(path)).differences).toEqual([]);
    await damage(join(path, '_SUCCESS'));
    expect((await verifyTable(path)).differences).toEqual([difference]);
  });

  test('finds two names of one file', async () => {
    const path = await table();
    await rm(join(path, second));
    await link(join(path, part), join(path, second));
    const [{ bytes, sha256 }] = await filesIn(path);
    await edit(path, { files: { 1: { bytes, sha256 } } });
    expect((await verifyTable(path)).differences).toContain(`${part} and ${second} are the same file`);
  });

  test.each<[string, (files: readonly unknown[]) => object, string]>([
    ['a file that is listed twice', ([file]) => ({ rows: 20, files: [file, file] }), `the manifest lists ${part} more than once`],
    ['another type', () => ({ schema: { 0: { type: 'integer' } } }), `${part} differs from the manifest: column uid is not INT64`],
    ['a column too few', () => ({ schema: [] }), `${part} differs from the manifest: wrote 0 columns, read back 2`],
    [
      'a column too many',
      () => ({ schema: { 2: { name: 'x', field: 'x', original: 'x', type: 'text' } } }),
      `${part} differs from the manifest: wrote 3 columns, read back 2`,
    ],
    ['another partitioning', () => ({ partition_by: ['uid'] }), `${part} is not in the partition folders uid`],
    [
      'rows that the footers have not',
      () => ({ rows: 19, files: { 0: { rows: 9 } } }),
      `${part} differs from the manifest: wrote 9 rows, read back 10, 10 of them in row groups`,
    ],
    ['rows that the run did not write', () => ({ run: { written: 19 } }), 'the run wrote 19 rows, but its files have 20'],
    [
      'books of other rows',
      () => ({ books: { parquet: { written: 19, unchanged: 0 } } }),
      'books has 19 rows written and 0 unchanged, but run has 20 and 0',
    ],
    ['books of another sink', () => ({ books: { csv: { written: 20, unchanged: 0 } } }), 'books has no entry for parquet'],
    [
      'rows before a merge that do not add up',
      () => ({ run: { merged: { before: 3, inserted: 18, changed: 0, unchanged: 2, deleted: 0, rewritten: 0 } } }),
      'the merge made 21 rows, but its files have 20',
    ],
    ['an index of other rows', () => ({ keys: { rows: 7 } }), 'the key index has 7 rows, but the table has 20'],
  ])('finds what a manifest says wrong: %s', async (_name, change, difference) => {
    const path = await table();
    await edit(path, change(await filesIn(path)));
    expect((await verifyTable(path)).differences).toContain(difference);
  });

  test('refuses what is no table', async () => {
    const folder = await temporaryFolder();
    await expect(verifyTable(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await writeFile(join(folder, 'file'), '');
    await expect(verifyTable(join(folder, 'file'))).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
  });

  test('does not believe a manifest of another run', async () => {
    const path = await table();
    await edit(path, { run_id: 'run-0' });
    await expect(verifyTable(path)).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: expect.stringContaining('no readable manifest'),
    });
  });

  test('looks at a copy of the folder behind the link by its manifest', async () => {
    const path = await table();
    const copy = join(path, '../copy');
    await cp(path, copy, { recursive: true, dereference: true });
    await expect(verifyTable(copy)).rejects.toMatchObject({ code: 'E_SINK_FOREIGN', message: expect.stringContaining('--manifest') });
    expect(await verifyTable(copy, { manifest: manifestIn(path) })).toMatchObject({ run: 'run-1', rows: 20, differences: [] });
    await flip(join(copy, part));
    await writeFile(join(copy, 'more'), '');
    expect((await verifyTable(copy, { manifest: manifestIn(path) })).differences).toHaveLength(2);
    await expect(verifyTable(copy, { manifest: join(copy, part) })).rejects.toMatchObject({ code: 'E_SINK_RUN' });
  });

  test('takes files that lack a column which came later', async () => {
    const path = await table();
    const more = [...columns, column('late')];
    const context = { ...recording(dirname(path), 'run-2'), key: ['uid'] };
    await writeAll(parquet({ path: 't', mode: 'append' }, context), more, [{ uid: 'x', state: 'NY', late: 'y' }]);
    expect(await verifyTable(path)).toMatchObject({ rows: 21, differences: [] });
  });
});

describe('verifyTable with the log of runs', () => {
  const stateOf = (path: string) => ({ stateDir: join(path, '../state') });
  const logOf = (path: string) => join(path, '../state/runs.ndjson');

  /** The forger's work: other data, and a manifest that says so. */
  async function forge(path: string): Promise<void> {
    const other = await temporaryFolder();
    await table({ row_group_rows: 20 }, 'run-1', other);
    const stored = (base: string, index: number) => join(base, `.t.runs/data/run-1/part-0000${index}.parquet.stored`);
    for (const name of [join(path, second), stored(dirname(path), 1)]) await rm(name);
    for (const name of [join(path, part), stored(dirname(path), 0)]) await cp(join(other, 't', part), name);
    await cp(join(other, '.t.runs/_leadstream/runs/run-1.json'), manifestIn(path));
    await cp(join(other, '.t.runs/_leadstream/runs/run-1.keys.bin'), keysIn(path));
  }

  test('tells by what the manifest was found to be right', async () => {
    const path = await table();
    expect(await verifyTable(path)).toMatchObject({ evidence: 'none', differences: [] });
    expect(await verifyTable(path, stateOf(path))).toMatchObject({ evidence: 'sha256', differences: [] });
  });

  test('finds a manifest that was edited together with the data', async () => {
    const path = await table();
    await forge(path);
    expect((await verifyTable(path)).differences).toEqual([]);
    const { differences } = await verifyTable(path, stateOf(path));
    expect(differences).toEqual([`the manifest of run run-1 is not the one that the run wrote (SHA-256 in ${logOf(path)})`]);
  });

  test('finds a run that was put in the place of those that it knows', async () => {
    const path = await table();
    const log = await readFile(logOf(path));
    await table({}, 'run-2', dirname(path));
    await writeFile(logOf(path), log);
    const { differences } = await verifyTable(path, stateOf(path));
    expect(differences).toEqual([`run run-2 is not in the log of runs ${logOf(path)}`]);
  });

  test('takes a run that was published before the log began at its word', async () => {
    const path = await table();
    await rm(logOf(path));
    await table({}, 'run-2', dirname(path));
    expect(await verifyTable(path, { ...stateOf(path), run: 'run-1' })).toMatchObject({ evidence: 'none', differences: [] });
  });

  test('finds the table behind another path of its folder, and reads on behind a line that was cut off', async () => {
    const path = await table();
    await appendFile(logOf(path), '{"run":"run-9","ta');
    await table({}, 'run-2', dirname(path));
    await symlink('.', join(path, '../other'));
    expect(await verifyTable(join(path, '../other/t'), stateOf(path))).toMatchObject({ run: 'run-2', evidence: 'sha256' });
    expect(await verifyTable(path, { ...stateOf(path), run: 'run-1' })).toMatchObject({ evidence: 'sha256' });
  });

  test('finds the run of a table that was moved, and says where it was; one that takes the place of another is none', async () => {
    const path = await table();
    const there = join(path, '../archive');
    await mkdir(there);
    await rename(path, join(there, 't'));
    await rename(join(path, '../.t.runs'), join(there, '.t.runs'));
    expect(await verifyTable(join(there, 't'), stateOf(path))).toMatchObject({ evidence: 'sha256', movedFrom: path, differences: [] });
    const log = logOf(path);
    await appendFile(log, `\n${JSON.stringify({ run: 'run-0', table: join(there, 't'), sha256: '0' })}\n`);
    expect((await verifyTable(join(there, 't'), stateOf(path))).differences).toEqual([`run run-1 is not in the log of runs ${log}`]);
  });

  test.each([
    ['lines that are none', (log: string) => appendFile(log, `\n${'{"run":'.repeat(100_000)}\n{"run":1}\n\u0000\n`)],
    ['as many lines', (log: string) => appendFile(log, `\n${'{"run":"run-0","table":"/elsewhere","sha256":"0"}\n'.repeat(50_000)}`)],
  ])('reads on behind %s of a long log', async (_what, lengthen) => {
    const path = await table();
    await lengthen(logOf(path));
    await table({}, 'run-2', dirname(path));
    for (const run of ['run-1', 'run-2'])
      expect(await verifyTable(path, { ...stateOf(path), run })).toMatchObject({ evidence: 'sha256', differences: [] });
  });

  test('does not follow a link in the place of the log', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'state'));
    await symlink('../elsewhere', join(folder, 'state/runs.ndjson'));
    await expect(table({}, 'run-1', folder)).rejects.toMatchObject({ code: 'E_STATE_FOREIGN' });
    expect(await readdir(folder)).not.toContain('elsewhere');
  });
});

test.each([
  [0, 1],
  [1, 2],
  [3, 4],
])('keep: %i leaves %i runs', async (keep, left) => {
  const folder = await temporaryFolder();
  for (let run = 1; run <= 6; run += 1)
    await writeAll(parquet({ path: 't', keep }, recording(folder, `run-${run}`)), columns, [{ uid: String(run), state: '' }]);
  expect(await readdir(join(folder, '.t.runs/data'))).toHaveLength(left);
  expect(await readdir(join(folder, '.t.runs'))).toEqual(['_leadstream', 'data', 'run-6']);
});

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** What the manifest lists. */
async function filesIn(path: string): Promise<[ManifestFile, ...ManifestFile[]]> {
  return (JSON.parse(await readFile(manifestIn(path), 'utf8')) as { files: [ManifestFile] }).files;
}

type ManifestFile = Manifest['files'][number];

/** Changes the manifest: an object changes what it names, a list by index. */
async function edit(path: string, change: object): Promise<void> {
  const manifest: unknown = JSON.parse(await readFile(manifestIn(path), 'utf8'));
  await writeFile(manifestIn(path), JSON.stringify(changed(manifest, change)));
}

function changed(value: unknown, change: unknown): unknown {
  if (typeof change !== 'object' || change === null || Array.isArray(change)) return change;
  const result = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>;
  for (const [key, inner] of Object.entries(change)) result[key] = changed(result[key], inner);
  return result;
}
