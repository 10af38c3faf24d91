import { describe, expect, test } from '@jest/globals';
import { mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders, removeFolders, PartialFile, publish, reserveFile, sha256File } from '../../../src/store/index.js';
import { temporaryFolder } from '../../support/temporary.js';

describe('reserveFile', () => {
  test('makes folders and a hidden partial file beside the destination', async () => {
    const folder = await temporaryFolder();
    const file = await reserveFile(join(folder, 'a/b/x.csv'), 'run-1');

    expect(await readdir(join(folder, 'a/b'))).toEqual(['.x.csv.run-1.partial']);
    await file.discard();
    expect(await readdir(folder)).toEqual([]);
  });

  test('removes leftovers of the same destination only', async () => {
    const folder = await temporaryFolder();
    const dead = '20260101T000000000Z-0a1b2c3d';
    const others = ['.x.csv.my-draft.partial', `.x.csv.old.csv.${dead}.partial`, `.y.csv.${dead}.partial`];
    for (const name of [`.x.csv.${dead}.partial`, '.x.csv.20260101T000000000-0a1b2c3d.partial', ...others])
      await writeFile(join(folder, name), '');
    const file = await reserveFile(join(folder, 'x.csv'), 'run-1');

    expect((await readdir(folder)).sort()).toEqual([...others, '.x.csv.run-1.partial'].sort());
    await file.discard();
  });

  test('names path and cause when the parent is a file', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'a'), '');
    await expect(reserveFile(join(folder, 'a/x.csv'), 'run-1')).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: `cannot write ${folder}/a/x.csv: ENOTDIR: not a directory`,
    });
  });
});

describe('PartialFile', () => {
  test('is created exclusively', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'x.partial');
    const file = await PartialFile.open(path, join(folder, 'x'));
    await expect(PartialFile.open(path, join(folder, 'x'))).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining('EEXIST'),
    });
    await file.discard();
  });

  test('appends text and bytes and counts them', async () => {
    const folder = await temporaryFolder();
    const file = await PartialFile.open(join(folder, 'x.partial'), join(folder, 'x'));
    await file.append('é');
    await file.append(Uint8Array.of(10));
    await file.close();
    await publish([file.move]);

    expect(file.bytes).toBe(3);
    expect(await readFile(join(folder, 'x'), 'utf8')).toBe('é\n');
  });

  test('fails with the first failure ever after', async () => {
    const folder = await temporaryFolder();
    const file = await PartialFile.open(join(folder, 'x.partial'), join(folder, 'x'));
    await file.close();
    const failure: unknown = await file.append('x').catch((thrown: unknown) => thrown);

    expect(failure).toMatchObject({ code: 'E_SINK_WRITE', message: expect.stringMatching(/x\.partial.*EBADF/) });
    await expect(file.close()).rejects.toBe(failure);
    expect(file.bytes).toBe(0);
  });

  test('can be discarded twice, and after its publication without harm', async () => {
    const folder = await temporaryFolder();
    const file = await PartialFile.open(join(folder, 'x.partial'), join(folder, 'x'));
    await file.close();
    await publish([file.move]);
    await file.discard();
    await file.discard();
    expect(await readdir(folder)).toEqual(['x']);
  });
});

describe('publish', () => {
  test('replaces a link in one rename', async () => {
    const folder = await temporaryFolder();
    const [now, next] = [join(folder, 'now'), join(folder, 'next')];
    await symlink('old', now);
    await symlink('new', next);
    await publish([{ from: next, to: now }]);
    expect(await readlink(now)).toBe('new');
  });

  test('puts a link in the place of an empty folder', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'now'));
    await symlink('new', join(folder, 'next'));
    await publish([{ from: join(folder, 'next'), to: join(folder, 'now') }]);
    expect(await readlink(join(folder, 'now'))).toBe('new');
  });

  test('never replaces a folder with files', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'now'));
    await writeFile(join(folder, 'now', 'mine'), '');
    await writeFile(join(folder, 'next'), '');
    await expect(publish([{ from: join(folder, 'next'), to: join(folder, 'now') }])).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
    });
    expect(await readdir(join(folder, 'now'))).toEqual(['mine']);
  });

  test('fails when neither end of a move is there', async () => {
    const folder = await temporaryFolder();
    await expect(publish([{ from: join(folder, 'a'), to: join(folder, 'b') }])).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
      message: expect.stringContaining('ENOENT'),
    });
  });
});

describe('makeFolders', () => {
  test('tells what it made, outermost first', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'a'));
    const made = await makeFolders(join(folder, 'a/b/c'));
    expect(made).toEqual([join(folder, 'a/b'), join(folder, 'a/b/c')]);
    await removeFolders(made);
    expect(await readdir(folder)).toEqual(['a']);
  });
});

describe('sha256File', () => {
  test('gives the digest of the contents', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'x'), 'abc');
    expect(await sha256File(join(folder, 'x'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
