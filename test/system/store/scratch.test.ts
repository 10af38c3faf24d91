import { mkdirSync, watch, writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { lockOutputs, openOutput, ScratchFolder } from '../../../src/store/index.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';
import { lockPath } from './support.js';

test('a scratch folder removes what killed processes left, also where that is only a lock, and nothing of a living one', async () => {
  const parent = await temporaryFolder();
  const [living, killed, lock] = ['a', 'b', 'c'].map((digit) => join(parent, `spill-${digit.repeat(16)}`)) as [string, string, string];
  const held = await lockOutputs([living], { runId: 'run-1' });
  const dead = JSON.stringify({ ...(JSON.parse(await readFile(lockPath(living), 'utf8')) as object), pid: 2 ** 22 + 1 });
  for (const folder of [living, killed]) {
    await mkdir(folder);
    await writeFile(join(folder, 'rows'), 'rows');
  }
  for (const folder of [killed, lock]) await writeFile(lockPath(folder), dead);

  await (await ScratchFolder.open(parent)).remove();
  expect(await filesBelow(parent)).toEqual([lockPath(living), living, join(living, 'rows')].map((path) => relative(parent, path)));
  await held.release();
});

test('a scratch folder that cannot be created keeps no lock', async () => {
  const parent = await temporaryFolder();
  const watcher = watch(parent, (_, name) => {
    const [, folder] = /^\.(spill-[0-9a-f]{16})\.lock/.exec(name ?? '') ?? [];
    if (folder === undefined) return;
    watcher.close();
    writeFileSync(join(parent, folder), 'a file');
  });
  await expect(ScratchFolder.open(parent)).rejects.toMatchObject({ code: 'E_STATE_FOREIGN' });
  expect(await filesBelow(parent)).toEqual([]);
});

test('a scratch folder for a file of a store is gone when that file cannot be created', async () => {
  const [scratch, store] = [await temporaryFolder(), new DiskObjects(await temporaryFolder())];
  const stores = { at: () => store, above: () => ({ store, key: 'x.csv' }), check: () => Promise.resolve() };
  const watcher = watch(scratch, (_, name) => {
    if (!name?.startsWith('spill-')) return;
    watcher.close();
    mkdirSync(join(scratch, name, 'upload'));
  });
  await expect(openOutput('s3://bucket/x.csv', { runId: 'run-1', stores, scratch })).rejects.toMatchObject({ code: 'E_SINK_PATH' });
  expect(await filesBelow(scratch)).toEqual([]);
});
