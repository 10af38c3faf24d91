import { cp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../src/core/index.js';
import { readAvro, writeAvro } from '../../../src/lake/iceberg/avro.js';
import { type Catalog, fileCatalog, IcebergFormat } from '../../../src/lake/iceberg/index.js';
import { readManifests } from '../../../src/lake/iceberg/manifests.js';
import { keysBelow, manifestKey } from '../../../src/lake/store-table.js';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { IcebergTable, seen, sharedCatalog } from '../../support/format-table.js';
import { around } from '../../support/stores.js';
import { temporaryFolder } from '../../support/temporary.js';

const id = (name: string): Row => ({ id: name });

test.each(['before', 'in'])('keeps what a tag refers to that others make just %s the commit that expires', async (when) => {
  const own = new IcebergTable(await temporaryFolder());
  for (const run of ['r1', 'r2', 'r3']) await own.run(run, [id(run)]);
  const catalog = sharedCatalog(await own.metadata());
  const version = await new IcebergFormat(catalog, own.store).load();
  const first = (await own.metadata()).snapshots[0]?.['snapshot-id'] ?? 0;
  const tag = () => catalog.commit(undefined, [{ action: 'set-snapshot-ref', 'ref-name': 'audit', type: 'tag', 'snapshot-id': first }]);
  if (when === 'before') await tag();
  const slow: Catalog = {
    load: () => catalog.load(),
    commit: async (...commit) => {
      if (when === 'in') await tag();
      return catalog.commit(...commit);
    },
  };
  const removed = version && (await new IcebergFormat(slow, own.store).expire(version, 0, []));
  const runs = new Set(removed?.map((key) => /r\d/.exec(key)?.[0]));
  expect([...runs]).toEqual(['r2']);
  const { snapshots = [], refs = {} } = (await catalog.load())?.metadata ?? {};
  expect([snapshots.length, refs['audit']?.['snapshot-id']]).toEqual([when === 'in' ? 1 : 2, first]);
});

test.each([
  ['r2', 'left by others after it', '0', []],
  [undefined, 'to which others returned', '2', []],
  [undefined, 'to which others returned, while its snapshot is there', '2', ['r2']],
])('takes %s for the last run of a version %s', async (run, _, sequence, kept) => {
  const own = new IcebergTable(await temporaryFolder());
  for (const each of ['r1', 'r2']) await own.run(each, [id(each)]);
  const { snapshots, properties, ...rest } = await own.metadata();
  const foreign = { ...snapshots[0], summary: { operation: 'replace' } };
  const catalog = sharedCatalog({
    ...rest,
    snapshots: [foreign, ...snapshots.slice(1).filter(() => kept.length > 0)],
    'current-snapshot-id': foreign['snapshot-id'],
    properties: { ...properties, 'leadstream.sequence-number': sequence },
  });
  const version = await new IcebergFormat(catalog, own.store).load();
  expect([version?.current?.run, version?.kept.map((each) => each.run)]).toEqual([run, kept]);
});

describe('manifests of Iceberg', () => {
  /** By snapshot, those that its list names. */
  async function manifestsOf(table: IcebergTable): Promise<readonly (readonly string[])[]> {
    const lists = (await table.metadata()).snapshots.map((snapshot) => readFile(snapshot['manifest-list']));
    const read = lists.map(async (list) => (await readAvro(await list)).records as { manifest_path: string }[]);
    return (await Promise.all(read)).map((records) => records.map((row) => row.manifest_path));
  }
  const inState = (state: string, ...names: string[]): Row[] => names.map((name) => ({ id: name, state }));

  test('stay as they are where a run removes none of their files, until no snapshot has them', async () => {
    const table = new IcebergTable(await temporaryFolder());
    const by = ['state'];
    await table.run('r1', [...inState('CA', 'a'), ...inState('NY', 'b')], { by, mode: 'append' });
    await table.run('r2', inState('TX', 'c'), { by, mode: 'append' });
    await table.run('r3', inState('CA', 'd'), { by, mode: 'replace_partitions' });
    const last = await table.run('r4', inState('TX', 'e'), { by, mode: 'append' });
    const [first = [], second = [], third = [], fourth = []] = await manifestsOf(table);
    const newIn = (now: readonly string[], before: readonly string[]) => now.filter((path) => !before.includes(path)).length;
    expect([first.length, newIn(second, first), newIn(third, second), newIn(fourth, third)]).toEqual([1, 1, 2, 1]);
    expect(second).toEqual(expect.arrayContaining([...first]));
    expect(third.filter((path) => second.includes(path))).toEqual(second.filter((path) => !first.includes(path)));
    // What r3 has of deleted files is of no use to later snapshots.
    expect(third.filter((path) => fourth.includes(path))).toHaveLength(2);
    expect(seen(await table.format.load())).toEqual(seen(last));
    const removed = await table.format.expire(last, 0, []);
    const expired = [...first, ...third].filter((path) => !fourth.includes(path)).map((path) => path.slice(table.root.length + 1));
    expect(removed.filter((key) => /-m\d+\.avro$/.test(key)).sort()).toEqual([...new Set(expired)].sort());
    await table.store.remove(removed);
    expect((await table.format.load())?.files.map(({ name }) => name.split('/')[1]).sort()).toEqual(['r1', 'r2', 'r3', 'r4']);
  });

  test('are one again when there are a hundred small ones, of which earlier runs keep theirs', async () => {
    const table = new IcebergTable(await temporaryFolder());
    let version = await table.run('r000', [id('0')]);
    const change = await table.change(version, 'r000', [id('0')], { mode: 'append' });
    const nights = Array.from({ length: 102 }, (_, index) => `r${String(index + 1).padStart(3, '0')}`);
    for (const runId of nights) {
      const added = change.added.map((file) => ({ ...file, name: `data/${runId}/part-00000.parquet` }));
      await table.store.put(manifestKey(runId), JSON.stringify(change.manifest));
      version = await table.format.commit(version, { ...change, runId, added, keep: 999 });
    }
    const counts = (await manifestsOf(table)).map((paths) => paths.length);
    expect([counts.slice(0, 3), counts.slice(98)]).toEqual([
      [1, 2, 3],
      [99, 100, 1, 2, 3],
    ]);
    expect(seen(await table.format.load())).toEqual(seen(version));
    expect(version.files).toHaveLength(103);
    const restored = await table.format.restore(version, 'r099');
    expect(restored.files).toHaveLength(100);
    expect(await table.format.expire(restored, 999, [])).toEqual([]);
  });
});

describe('a commit to a table of Iceberg', () => {
  const hint = 'metadata/version-hint.text';

  test('has a hint that is not older than another one, when it arrives late', async () => {
    const root = await temporaryFolder();
    await new IcebergTable(root).run('r1', [id('1')]);
    const store = around(new DiskObjects(root), ['put', 'replace'], async (write, key) => {
      if (key === hint) await new IcebergTable(root).run('r3', [id('3')]);
      return write();
    });
    await new IcebergTable(root, store).run('r2', [id('2')]);
    expect(await readFile(join(root, hint), 'utf8')).toBe('3');
  });

  test('removes the metadata that is no longer in the log of metadata, and lists no manifests', async () => {
    const listed: string[] = [];
    const disk = new DiskObjects(await temporaryFolder());
    const store = around(disk, ['list'], (call, prefix) => (listed.push(prefix), call()));
    const { catalog } = new IcebergTable(store.root, store);
    const noted = (night: number) =>
      catalog.load().then((base) => catalog.commit(base, [{ action: 'set-properties', updates: { night: `${night}` } }]));
    for (let night = 1; night <= 103; night += 1) await noted(night);
    const left = await keysBelow(disk, ['metadata/v1.', 'metadata/v2.', 'metadata/v3.', 'metadata/v103.']);
    expect(left).toEqual(['metadata/v3.metadata.json', 'metadata/v103.metadata.json']);
    expect((await catalog.load())?.metadata['metadata-log']?.[0]?.['metadata-file']).toBe(`${disk.root}/metadata/v3.metadata.json`);
    expect([...new Set(listed)]).toEqual(['metadata/v', 'metadata/0']);
  });

  test.each(['lost', 'not sent'])(
    'happens once when the reply of the catalog, or the request, is %s, as do a return and an expiry',
    async (fault) => {
      const store = new DiskObjects(await temporaryFolder());
      const catalog = fileCatalog(store);
      let calls = 0;
      const faulty: Catalog = {
        load: () => catalog.load(),
        commit: async (...commit) => {
          calls += 1;
          if (fault === 'not sent' && calls % 2 === 0) return catalog.commit(...commit);
          if (fault === 'lost') await catalog.commit(...commit);
          throw new Error('the connection broke');
        },
      };
      const table = new IcebergTable(store.root, store, faulty);
      await table.run('r1', [id('1')]);
      const second = await table.run('r2', [id('2')], { mode: 'append' });
      expect(second).toMatchObject({ sequence: 2, current: { run: 'r2' }, kept: [{ run: 'r1' }] });
      const restored = await table.format.restore(second, 'r1');
      expect(restored).toMatchObject({ sequence: 3, current: { run: 'r1' }, kept: [{ run: 'r2' }] });
      expect(await table.format.expire(restored, 0, [])).toHaveLength(3);
      expect(await table.format.load()).toMatchObject({ sequence: 4, current: { run: 'r1' }, kept: [] });
      expect((await table.metadata()).snapshots).toHaveLength(1);
    },
  );
});

test('a table of Iceberg never has fewer rows because its manifests or lists are damaged', async () => {
  const table = new IcebergTable(await temporaryFolder());
  for (const [night, run] of ['r1', 'r2', 'r3', 'r4', 'r5'].entries()) {
    const base = await table.format.load();
    const change = await table.change(base, run, [id(run)], { mode: night === 3 ? 'replace' : 'append' });
    // So many that a manifest has several blocks.
    const added = change.added.flatMap((file) => Array.from({ length: 400 }, (_, index) => ({ ...file, name: `${file.name}-${index}` })));
    await table.format.commit(base, { ...change, added });
  }
  const whole = seen(await table.format.load());
  const { snapshots } = await table.metadata();
  const byNight: (readonly string[])[] = [];
  for (const snapshot of snapshots) {
    const path = snapshot['manifest-list'];
    const { records } = await readAvro(await readFile(path));
    byNight.push([path, ...(records as { manifest_path: string }[]).map((row) => row.manifest_path)]);
  }
  let borders = 0;
  for (const [night, paths] of byNight.entries()) {
    for (const [which, path] of paths.entries()) {
      if (byNight[night - 1]?.includes(path)) continue;
      const bytes = await readFile(path);
      const sync = bytes.subarray(-16);
      const damages: (Buffer | undefined)[] = [
        undefined,
        Buffer.of(),
        ...Array.from({ length: 10 }, (_, index) => bytes.subarray(0, (bytes.length * index) / 10)),
      ];
      for (let at = bytes.indexOf(sync); at + 16 < bytes.length; at = bytes.indexOf(sync, at + 1))
        borders += damages.push(bytes.subarray(0, at + 16));
      const predecessor = byNight[night - 1]?.[which];
      if (predecessor) damages.push(await readFile(predecessor));
      for (const damage of damages) {
        await (damage ? writeFile(path, damage) : rm(path));
        const found = await table.format.load().then(seen, (failure: unknown) => failure);
        const restored = await readManifests(table.store, snapshots[night] as never).catch((failure: unknown) => failure);
        expect(restored).toMatchObject({ code: 'E_SINK_FOREIGN', message: expect.stringContaining(path) });
        expect(found).toEqual(byNight.at(-1)?.includes(path) ? restored : whole);
      }
      await writeFile(path, bytes);
    }
  }
  expect(borders).toBeGreaterThan(10);
  expect(seen(await table.format.load())).toEqual(whole);
});

describe('a table of Iceberg that leadstream may not write is refused', () => {
  const first = 'metadata/v1.metadata.json';
  const edited = async (root: string, change: (text: string) => string) => {
    await writeFile(join(root, first), change(await readFile(join(root, first), 'utf8')));
  };
  const cases: readonly (readonly [name: string, (root: string) => Promise<unknown>, message: RegExp])[] = [
    ['format version 3', (root) => edited(root, (text) => text.replace('"format-version":2', '"format-version":3')), /format version is 3/],
    ['no metadata', (root) => edited(root, () => '{"a":'), /cannot be read as table metadata/],
    [
      'a property that another program copied',
      (root) => cp(join(root, first), join(root, 'metadata/v2.metadata.json')),
      /v2.*another program/,
    ],
    ['metadata of a catalog', (root) => cp(join(root, first), join(root, 'metadata/00001-a.metadata.json')), /00001-a.*another program/],
    ['a table without our mark', (root) => edited(root, (text) => text.replace('leadstream.writer', 'writer')), /another writer/],
    ['a file elsewhere', (root) => edited(root, (text) => text.replace('/metadata/r1', '/../r1')), /leads out/],
    ['an unknown codec', (root) => unreadable(root), /cannot be read/],
    ['delete files', (root) => withDeletes(root), /delete files/],
  ];
  test.each(cases)('for %s', async (_, change, message) => {
    const table = new IcebergTable(await temporaryFolder());
    await table.run('r1', [id('1')]);
    await change(table.root);
    await expect(table.format.load()).rejects.toMatchObject({ code: 'E_SINK_FOREIGN', message: expect.stringMatching(message) });
  });

  test('unless an earlier run alone has delete files, which expire', async () => {
    const table = new IcebergTable(await temporaryFolder());
    await table.run('r1', [id('1')]);
    await withDeletes(table.root);
    await expect(table.run('r2', [])).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await withDeletes(table.root, 0);
    const version = await table.run('r2', []);
    await withDeletes(table.root);
    expect(await table.format.load()).toMatchObject({ current: { run: 'r2' } });
    expect(await table.format.expire(version, 0, [])).toHaveLength(3);
  });

  test('when it was moved', async () => {
    const table = new IcebergTable(await temporaryFolder());
    await table.run('r1', [id('1')]);
    const copy = join(await temporaryFolder(), 'copy');
    await cp(table.root, copy, { recursive: true });
    await expect(new IcebergTable(copy).format.load()).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: expect.stringContaining('cannot be moved'),
    });
  });
});

/** Says of the files in the first manifest of a table that they have data or, by default, position deletes. */
async function withDeletes(root: string, content = 1): Promise<void> {
  const { metadata } = (await fileCatalog(new DiskObjects(root)).load()) ?? {};
  const listed = metadata?.snapshots?.[0]?.['manifest-list'] ?? '';
  const list = await readAvro(await readFile(listed));
  const { manifest_path: path } = list.records[0] as { manifest_path: string };
  const { schema, records } = await readAvro(await readFile(path));
  const deletes = (records as { data_file: object }[]).map((entry) => ({ ...entry, data_file: { ...entry.data_file, content } }));
  await writeFile(path, await writeAvro(schema, {}, deletes));
  const { size } = await stat(path);
  const rows = (list.records as { manifest_length: number }[]).map((row, index) => (index === 0 ? { ...row, manifest_length: size } : row));
  await writeFile(listed, await writeAvro(list.schema, {}, rows));
}

async function unreadable(root: string): Promise<void> {
  const { metadata } = (await fileCatalog(new DiskObjects(root)).load()) ?? {};
  const path = metadata?.snapshots?.[0]?.['manifest-list'] ?? '';
  await writeFile(path, (await readFile(path, 'latin1')).replace('deflate', 'unknown'), 'latin1');
}
