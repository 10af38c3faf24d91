import { describe, expect, test } from '@jest/globals';
import { appendFile, copyFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquet, tableRuns, verifyTable } from '../../../src/sinks/index.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

const columns = [column('uid', 'text', { source: 'uid' })];

/** A table with two files and a key index. */
async function table(base: string, runId = 'run-1'): Promise<string> {
  const options = { path: 't', mode: 'append', row_group_rows: 10, file_max_rows: 10 } as const;
  const rows = Array.from({ length: 20 }, (_, n) => ({ uid: `${runId}-${n}` }));
  await writeAll(parquet(options, { ...recording(base, runId), key: ['uid'] }), columns, rows);
  return join(base, 't');
}

const part = 'part-00000-run-1.parquet';

describe('verifyTable', () => {
  test('finds nothing in a table that is as it was published', async () => {
    const folder = await temporaryFolder();
    const path = await table(folder);
    expect(await verifyTable(path)).toMatchObject({ run: 'run-1', files: 2, rows: 20, differences: [] });
  });

  test.each<[string, (path: string) => Promise<unknown>, string]>([
    ['a missing file', (path) => rm(join(path, part)), `${part} is missing`],
    ['a file that grew', (path) => appendFile(join(path, part), 'x'), ' bytes, the manifest says '],
    ['a byte that flipped', (path) => flip(join(path, part)), `${part} has other contents than the manifest says (SHA-256)`],
    [
      'a file that somebody added',
      (path) => copyFile(join(path, part), join(path, 'more.parquet')),
      'more.parquet is there, but not in the manifest',
    ],
    ['a missing _SUCCESS', (path) => rm(join(path, '_SUCCESS')), '_SUCCESS is missing'],
    ['a missing key index', (path) => rm(join(path, '_keys.bin')), '_keys.bin is missing or has another size than the manifest says'],
    ['a damaged key index', (path) => flip(join(path, '_keys.bin')), '_keys.bin has other contents than the manifest says (SHA-256)'],
    ['a sum that is wrong', (path) => edit(path, '"rows": 20', '"rows": 21'), 'the manifest says 21 rows, its files have 20'],
  ])('finds %s', async (_name, damage, difference) => {
    const folder = await temporaryFolder();
    const path = await table(folder);
    await damage(path);
    const { differences } = await verifyTable(path);
    expect(differences).toEqual([expect.stringContaining(difference)]);
  });

  test('refuses what is no table', async () => {
    const folder = await temporaryFolder();
    await expect(verifyTable(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await writeFile(join(folder, 'file'), '');
    await expect(verifyTable(join(folder, 'file'))).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
  });

  test('does not believe a manifest of another run', async () => {
    const folder = await temporaryFolder();
    const path = await table(folder);
    await edit(path, '"run_id": "run-1"', '"run_id": "run-0"');
    await expect(verifyTable(path)).rejects.toMatchObject({
      code: 'E_SINK_RUN',
      message: expect.stringContaining('no manifest that can be read'),
    });
  });

  test('looks at a copy of the folder behind the link', async () => {
    const folder = await temporaryFolder();
    const path = await table(folder);
    await cp(path, join(folder, 'copy'), { recursive: true, dereference: true });
    expect(await verifyTable(join(folder, 'copy'))).toMatchObject({ run: 'run-1', rows: 20, differences: [] });
    await flip(join(folder, 'copy', part));
    expect((await verifyTable(join(folder, 'copy'))).differences).toHaveLength(1);
  });

  test('looks at a kept run by its name', async () => {
    const folder = await temporaryFolder();
    const path = await table(folder);
    await table(folder, 'run-2');
    expect(await verifyTable(path, 'run-1')).toMatchObject({ run: 'run-1', rows: 20, differences: [] });
    expect(await verifyTable(path)).toMatchObject({ run: 'run-2', rows: 40, differences: [] });
  });
});

test('tableRuns tells the runs, the newest first, and which one readers see', async () => {
  const folder = await temporaryFolder();
  for (const run of ['run-1', 'run-2', 'run-3']) await table(folder, run);
  const runs = await tableRuns(join(folder, 't'));
  expect(runs.map(({ run, state, manifest }) => [run, state, manifest.rows])).toEqual([
    ['run-3', 'published', 60],
    ['run-2', 'kept', 40],
  ]);
});

test.each([
  [0, 1],
  [1, 2],
  [3, 4],
])('keep: %i leaves %i runs', async (keep, left) => {
  const folder = await temporaryFolder();
  for (let run = 1; run <= 6; run += 1) await writeAll(parquet({ path: 't', keep }, recording(folder, `run-${run}`)), columns, []);
  expect(await readdir(join(folder, '.t.runs'))).toHaveLength(left);
});

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const manifest = join(path, '_manifest.json');
  const text = await readFile(manifest, 'utf8');
  expect(text).toContain(from);
  await writeFile(manifest, text.replace(from, to));
}
