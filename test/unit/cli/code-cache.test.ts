import { chmod, chown, mkdir, readdir, readFile, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { cacheName, CodeCache } from '../../../src/cli/code-cache.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const name = cacheName('command.cjs', Buffer.from('one'));
const data = Buffer.from('compiled');

async function written() {
  const base = await temporaryFolder();
  const cache = new CodeCache(base, 'run');
  cache.write(name, data);
  expect(cache.read(name)).toEqual(data);
  const folder = join(base, 'leadstream', 'run');
  return { base, cache, folder, file: join(folder, name) };
}

describe('compiled code', () => {
  test('has a name for each text of a script, also of the same length', () => {
    expect(cacheName('command.cjs', Buffer.from('two'))).not.toBe(name);
    expect(name).toMatch(/^command\.cjs-v\d+\.\d+\.\d+-[\da-f]{32}$/);
  });

  test.each<[string, (place: Awaited<ReturnType<typeof written>>) => Promise<void>]>([
    ['in a file that others can write to', ({ file }) => chmod(file, 0o622)],
    ['in a folder that others can write to', ({ folder }) => chmod(folder, 0o777)],
    ['below a folder that others can write to', ({ base }) => chmod(join(base, 'leadstream'), 0o770)],
    [
      'in a file that is a link',
      async ({ base, file }) => {
        await rename(file, join(base, 'elsewhere'));
        await symlink(join(base, 'elsewhere'), file);
      },
    ],
    [
      'in a folder that is a link',
      async ({ base, folder }) => {
        await rename(folder, join(base, 'elsewhere'));
        await symlink(join(base, 'elsewhere'), folder);
      },
    ],
    [
      'in a device without an end',
      async ({ folder, file }) => {
        await rename(file, join(folder, 'old'));
        await symlink('/dev/zero', file);
      },
    ],
    ['for another script', ({ file, folder }) => rename(join(folder, cacheName('command.cjs', Buffer.from('two'))), file)],
    ['that is damaged', async ({ file }) => writeFile(file, (await readFile(file)).fill(7, 35, 36))],
  ])('is not read %s', async (_where, change) => {
    const place = await written();
    place.cache.write(cacheName('command.cjs', Buffer.from('two')), Buffer.from('of another'));
    await change(place);
    expect(place.cache.read(name)).toBeUndefined();
  });

  // Only root can give files away.
  (process.geteuid?.() === 0 ? test : test.skip)('is not read where it belongs to somebody else', async () => {
    const own = await written();
    await chown(own.file, 65_534, 65_534);
    expect(own.cache.read(name)).toBeUndefined();
    const within = await written();
    await chown(within.folder, 65_534, 65_534);
    expect(within.cache.read(name)).toBeUndefined();
    within.cache.write(`${name}0`, data);
    expect(await readdir(within.folder)).toEqual([name]);
  });

  test('is not written to a folder that others can write to, through a link, or where there is none', async () => {
    const base = await temporaryFolder();
    await mkdir(join(base, 'leadstream', 'open'), { recursive: true });
    await chmod(join(base, 'leadstream', 'open'), 0o777);
    await mkdir(join(base, 'elsewhere'));
    await symlink(join(base, 'elsewhere'), join(base, 'leadstream', 'linked'));
    for (const verb of ['open', 'linked']) new CodeCache(base, verb).write(name, data);
    new CodeCache(join(base, 'none'), 'run').write(name, data);
    new CodeCache('/proc/1/x', 'run').write(name, data);
    expect(await filesBelow(base)).toEqual(['elsewhere', 'leadstream', 'leadstream/linked', 'leadstream/open']);
  });

  test('leaves no part of a file that could not be written', async () => {
    const { cache, folder, file } = await written();
    await rename(file, join(folder, 'old'));
    await mkdir(join(file, 'in the way'), { recursive: true });
    cache.write(name, data);
    expect((await readdir(folder)).sort()).toEqual([name, 'old']);
  });

  test('is removed after 30 days, and nothing else in the folder is', async () => {
    const { cache, folder } = await written();
    const old = ['command.cjs-v20.1.0-0123456789abcdef0123456789abcdef', `fetching.cjs-v24.0.0-rc.1-${'a'.repeat(32)}.17.partial`];
    const others = ['thesis.txt', 'command.cjs', 'command.cjs-v20.1.0', `${String(old[0])}.bak`];
    for (const each of [...old, ...others]) {
      await writeFile(join(folder, each), '');
      await utimes(join(folder, each), 1_700_000_000, 1_700_000_000);
    }
    cache.write(cacheName('command.cjs', Buffer.from('two')), data);
    const left = await readdir(folder);
    expect(left.filter((each) => old.includes(each))).toEqual([]);
    expect(left).toEqual(expect.arrayContaining(others));
  });
});
