import { describe, expect, test } from '@jest/globals';
import { mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders, PartialFile, publish, removeFolders, reserveFile, sha256File } from '../../../src/files/index.js';
import { temporaryFolder } from '../../support/sinks.js';

describe('reserveFile', () => {
  test('makes folders and a hidden partial file beside the destination', async () => {
    await using folder = await temporaryFolder();
    const file = await reserveFile(join(folder.path, 'a/b/x.csv'), 'run-1');

    expect(await readdir(join(folder.path, 'a/b'))).toEqual(['.x.csv.run-1.partial']);
    await file.discard();
    expect(await readdir(folder.path)).toEqual([]);
  });

  test('removes leftovers of the same destination only', async () => {
    await using folder = await temporaryFolder();
    for (const name of ['.x.csv.run-0.partial', '.x.csv.old.csv.run-0.partial', '.y.csv.run-0.partial'])
      await writeFile(join(folder.path, name), '');
    const file = await reserveFile(join(folder.path, 'x.csv'), 'run-1');

    expect((await readdir(folder.path)).sort()).toEqual(['.x.csv.old.csv.run-0.partial', '.x.csv.run-1.partial', '.y.csv.run-0.partial']);
    await file.discard();
  });

  test('names path and cause when the parent is a file', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'a'), '');
    await expect(reserveFile(join(folder.path, 'a/x.csv'), 'run-1')).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: `cannot write ${folder.path}/a/x.csv: ENOTDIR: not a directory`,
    });
  });
});

describe('PartialFile', () => {
  test('is created exclusively', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'x.partial');
    const file = await PartialFile.open(path, join(folder.path, 'x'));
    await expect(PartialFile.open(path, join(folder.path, 'x'))).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining('EEXIST'),
    });
    await file.discard();
  });

  test('appends text and bytes and counts them', async () => {
    await using folder = await temporaryFolder();
    const file = await PartialFile.open(join(folder.path, 'x.partial'), join(folder.path, 'x'));
    await file.append('é');
    await file.append(Uint8Array.of(10));
    await file.close();
    await publish([file.move]);

    expect(file.bytes).toBe(3);
    expect(await readFile(join(folder.path, 'x'), 'utf8')).toBe('é\n');
  });

  test('fails with the first failure ever after', async () => {
    await using folder = await temporaryFolder();
    const file = await PartialFile.open(join(folder.path, 'x.partial'), join(folder.path, 'x'));
    await file.close();
    const failure: unknown = await file.append('x').catch((thrown: unknown) => thrown);

    expect(failure).toMatchObject({ code: 'E_SINK_WRITE', message: expect.stringMatching(/x\.partial.*EBADF/) });
    await expect(file.close()).rejects.toBe(failure);
    expect(file.bytes).toBe(0);
  });

  test('can be discarded twice, and after its publication without harm', async () => {
    await using folder = await temporaryFolder();
    const file = await PartialFile.open(join(folder.path, 'x.partial'), join(folder.path, 'x'));
    await file.close();
    await publish([file.move]);
    await file.discard();
    await file.discard();
    expect(await readdir(folder.path)).toEqual(['x']);
  });
});

describe('publish', () => {
  test('replaces a link in one rename', async () => {
    await using folder = await temporaryFolder();
    const [now, next] = [join(folder.path, 'now'), join(folder.path, 'next')];
    await symlink('old', now);
    await symlink('new', next);
    await publish([{ from: next, to: now }]);
    expect(await readlink(now)).toBe('new');
  });

  test('puts a link in the place of an empty folder', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'now'));
    await symlink('new', join(folder.path, 'next'));
    await publish([{ from: join(folder.path, 'next'), to: join(folder.path, 'now') }]);
    expect(await readlink(join(folder.path, 'now'))).toBe('new');
  });

  test('never replaces a folder with files', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'now'));
    await writeFile(join(folder.path, 'now', 'mine'), '');
    await writeFile(join(folder.path, 'next'), '');
    await expect(publish([{ from: join(folder.path, 'next'), to: join(folder.path, 'now') }])).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
    });
    expect(await readdir(join(folder.path, 'now'))).toEqual(['mine']);
  });

  test('fails when neither end of a move is there', async () => {
    await using folder = await temporaryFolder();
    await expect(publish([{ from: join(folder.path, 'a'), to: join(folder.path, 'b') }])).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
      message: expect.stringContaining('ENOENT'),
    });
  });
});

describe('makeFolders', () => {
  test('tells what it made, outermost first', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'a'));
    const made = await makeFolders(join(folder.path, 'a/b/c'));
    expect(made).toEqual([join(folder.path, 'a/b'), join(folder.path, 'a/b/c')]);
    await removeFolders(made);
    expect(await readdir(folder.path)).toEqual(['a']);
  });
});

describe('sha256File', () => {
  test('gives the digest of the contents', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'x'), 'abc');
    expect(await sha256File(join(folder.path, 'x'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
