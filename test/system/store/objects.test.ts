import { createHash, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { diskObjects } from '../../../src/store/disk-objects.js';
import { createOnce, type FinishedFile, type ObjectStore } from '../../../src/store/index.js';
import { s3Objects } from '../../../src/store/s3.js';
import { bucket, seaweedfs, seaweedfsMissing } from '../../support/seaweedfs.js';
import { temporaryFolder } from '../../support/temporary.js';

async function finished(content: string | Buffer): Promise<FinishedFile> {
  const path = join(await temporaryFolder(), 'finished');
  await writeFile(path, content);
  return { path, bytes: Buffer.byteLength(content), sha256: createHash('sha256').update(content).digest('hex') };
}

async function keysOf(store: ObjectStore, prefix = ''): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

async function textOf(store: ObjectStore, key: string): Promise<string | undefined> {
  return (await store.read(key))?.bytes.toString();
}

async function s3Place(limits = {}): Promise<ObjectStore> {
  const { env } = await seaweedfs();
  Object.assign(process.env, env);
  return s3Objects(`s3://${bucket}/${randomUUID()}`, {}, limits);
}

const places: readonly (readonly [string, (limits?: object) => Promise<ObjectStore>])[] = [
  ['a folder', async () => diskObjects(join(await temporaryFolder(), 'place'))],
  ...(seaweedfsMissing === undefined ? ([['a bucket of SeaweedFS', s3Place]] as const) : []),
];

if (seaweedfsMissing !== undefined) test.skip(`objects in a bucket: ${seaweedfsMissing}`, () => {});

describe.each(places)('objects in %s', (_, placed) => {
  const before = { ...process.env };

  afterAll(() => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    Object.assign(process.env, before);
  });

  test('are created once', async () => {
    const store = await placed();
    expect(await store.read('a/b.json')).toBe(undefined);
    const version = await store.create('a/b.json', 'one');
    expect(await store.read('a/b.json')).toEqual({ bytes: Buffer.from('one'), version });
    await expect(store.create('a/b.json', 'two')).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(await textOf(store, 'a/b.json')).toBe('one');
    expect(await keysOf(store)).toEqual(['a/b.json']);
  });

  test('are replaced only in the version that is known', async () => {
    const store = await placed();
    const first = await store.create('p', 'one');
    const second = await store.replace('p', 'two', first);
    await expect(store.replace('p', 'three', first)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await expect(store.replace('missing', 'three', first)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(await store.read('p')).toEqual({ bytes: Buffer.from('two'), version: second });
    expect(await store.read('missing')).toBe(undefined);
  });

  test('have one winner of 16 that create, and of 8 that replace', async () => {
    const store = await placed();
    for (let round = 0; round < 5; round += 1) {
      const key = `race/${round}`;
      const created = await Promise.all(Array.from({ length: 16 }, (_, index) => createOnce(store, key, `${index}`)));
      expect(created.filter((outcome) => outcome === 'created')).toHaveLength(1);
      expect(await textOf(store, key)).toBe(String(created.indexOf('created')));
      const { version = '' } = (await store.read(key)) ?? {};
      const replaced = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => store.replace(key, `new ${index}`, version)));
      const winners = replaced.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
      expect(winners).toHaveLength(1);
      expect(await textOf(store, key)).toBe(`new ${winners[0]}`);
    }
  });

  test('are uploaded from a file and downloaded to one', async () => {
    const store = await placed({ partBytes: 5 << 20 });
    for (const [key, content] of [
      ['empty', ''],
      ['small', 'é'],
      ['large', Buffer.alloc(11 << 20, 'abcdefg')],
    ] as const) {
      const file = await finished(content);
      await store.upload(key, file);
      await store.upload(key, file);
      expect(await store.find(key)).toMatchObject({ bytes: file.bytes, sha256: file.sha256 });
      const copy = join(await temporaryFolder(), 'copy');
      await store.download(key, copy);
      expect((await readFile(copy)).equals(Buffer.from(content))).toBe(true);
      await expect(store.upload(key, await finished('other'))).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
      expect(await readFile(file.path)).toHaveLength(file.bytes);
    }
  });
});
