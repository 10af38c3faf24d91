import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { checkStore, writeOnce, type FinishedFile, type ObjectStore } from '../../src/store/index.js';
import { temporaryFolder } from '../support/temporary.js';

/** What every store of objects does. */
export function describeObjects(place: string, placed: (partBytes?: number) => Promise<ObjectStore>): void {
  describe(`objects in ${place}`, () => {
    keepEnvironment();

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
      const created = await Promise.all(Array.from({ length: 16 }, (_, index) => writeOnce(store, 'race/0', `${index}`)));
      expect(created.filter((version) => version !== undefined)).toHaveLength(1);
      expect(await textOf(store, 'race/0')).toBe(String(created.findIndex((version) => version !== undefined)));
      const { version = '' } = (await store.read('race/0')) ?? {};
      const replaced = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => store.replace('race/0', `new ${index}`, version)));
      const winners = replaced.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
      expect(winners).toHaveLength(1);
      expect(await textOf(store, 'race/0')).toBe(`new ${winners[0]}`);
    });

    test('are uploaded from a file and downloaded to one', async () => {
      const store = await placed(5 << 20);
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

    test('are refused if a file is not what was finished', async () => {
      const store = await placed(5 << 20);
      for (const content of ['x', Buffer.alloc(6 << 20)]) {
        const file = { ...(await finished(content)), sha256: 'a'.repeat(64) };
        await expect(store.upload('key', file)).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
        await expect(store.create('key', file)).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
      }
      expect(await keysOf(store)).toEqual([]);
    });

    test('are listed below a prefix in the order of keys, also more than 1,000, and removed', async () => {
      const store = await placed();
      const keys = Array.from({ length: 1_005 }, (_, index) => `many/${String(index).padStart(4, '0')}`);
      for (let from = 0; from < keys.length; from += 50) await Promise.all(keys.slice(from, from + 50).map((key) => store.put(key, key)));
      await store.put('manyfold', '');
      expect(await keysOf(store, 'many/')).toEqual(keys);
      expect(await keysOf(store, 'many/100')).toEqual(keys.slice(1_000));
      expect(await keysOf(store, 'none')).toEqual([]);
      for await (const { bytes } of store.list('many/0000')) expect(bytes).toBe(9);
      await store.remove([...keys, 'missing']);
      expect(await keysOf(store)).toEqual(['manyfold']);
    });

    test('are listed and removed whatever their keys are', async () => {
      const store = await placed();
      const keys = ['a b', 'a%2Fb+c', "it's &<é>", 'p=\uFFFE/q', 'p=\uFFFF/q'].map((name) => `data/${name}`);
      for (const key of keys) await store.put(key, key);
      expect([...(await keysOf(store))].sort()).toEqual([...keys].sort());
      expect(await keysOf(store, 'data/p=\uFFFE')).toEqual(['data/p=\uFFFE/q']);
      await store.remove(await keysOf(store));
      expect(await keysOf(store)).toEqual([]);
    });

    test('are put whether they exist or not', async () => {
      const store = await placed();
      await store.put('hint', '1');
      await store.put('hint', '2');
      expect(await textOf(store, 'hint')).toBe('2');
    });

    test('are checked for conditions once', async () => {
      const store = await placed();
      await checkStore(store);
      await checkStore(store);
      expect(await keysOf(store)).toEqual(['_leadstream/probe.json']);
    });
  });
}

export async function finished(content: string | Buffer): Promise<FinishedFile> {
  const path = join(await temporaryFolder(), 'finished');
  await writeFile(path, content);
  return { path, bytes: Buffer.byteLength(content), sha256: createHash('sha256').update(content).digest('hex') };
}

export async function keysOf(store: ObjectStore, prefix = ''): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

export async function textOf(store: ObjectStore, key: string): Promise<string | undefined> {
  return (await store.read(key))?.bytes.toString();
}

/** Lets each test of a suite change variables of the SDK. */
export function keepEnvironment(): void {
  let before: NodeJS.ProcessEnv = {};
  beforeEach(() => {
    before = { ...process.env };
  });
  afterEach(() => {
    forgetVariables();
    Object.assign(process.env, before);
  });
}

export function forgetVariables(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
}
