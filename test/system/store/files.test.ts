import { lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { commitUnlogged, makeFolders, removeFolders, PartialFile, reserveFile, sha256File } from '../../../src/store/index.js';
import type { Commit, LinkAction, RenameAction } from '../../../src/store/index.js';
import { temporaryFolder } from '../../support/temporary.js';

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

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

  test('fails with the first failure ever after', async () => {
    const folder = await temporaryFolder();
    const file = await PartialFile.open(join(folder, 'x.partial'), join(folder, 'x'));
    await file.close();
    const failure: unknown = await file.append('x').catch((thrown: unknown) => thrown);

    expect(failure).toMatchObject({ code: 'E_SINK_WRITE', message: expect.stringMatching(/x\.partial.*EBADF/) });
    await expect(file.close()).rejects.toBe(failure);
    expect(file.bytes).toBe(0);
  });
});

describe('a commit on local disk', () => {
  /** A link that is ready to take the place of `now`. */
  async function draftOf(folder: string): Promise<Commit> {
    const [at, draft] = [join(folder, 'now'), join(folder, '.now.runs/new.link')];
    await mkdir(join(folder, '.now.runs'));
    await symlink('.now.runs/new', draft);
    const action: LinkAction = { action: 'link', at, to: '.now.runs/new', draft };
    return { outputs: [at], actions: [action] };
  }

  /** A file that is ready to become `now`. */
  async function partialOf(folder: string, text: string): Promise<Commit> {
    const [from, to] = [join(folder, '.now.run-1.partial'), join(folder, 'now')];
    await writeFile(from, text);
    const action: RenameAction = { action: 'rename', from, to, file: { bytes: text.length, sha256: digest(text) } };
    return { outputs: [to], actions: [action] };
  }

  test('replaces a link in one step', async () => {
    const folder = await temporaryFolder();
    await symlink('.now.runs/old', join(folder, 'now'));
    await commitUnlogged(await draftOf(folder));
    expect(await readlink(join(folder, 'now'))).toBe('.now.runs/new');
    expect(await readdir(join(folder, '.now.runs'))).toEqual([]);
  });

  test.each([
    ['a link', draftOf, (path: string) => readlink(path), '.now.runs/new'],
    ['a file', (folder: string) => partialOf(folder, 'new'), (path: string) => readFile(path, 'utf8'), 'new'],
  ])('puts %s in the place of an empty folder', async (_what, ready, read, expected) => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'now'));
    await commitUnlogged(await ready(folder));
    expect(await read(join(folder, 'now'))).toBe(expected);
  });

  test('never replaces a folder with files', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'now'));
    await writeFile(join(folder, 'now', 'mine'), '');
    await expect(commitUnlogged(await partialOf(folder, 'new'))).rejects.toMatchObject({ code: 'E_SINK_WRITE' });
    expect(await readdir(join(folder, 'now'))).toEqual(['mine']);
  });

  test('fails when neither end of a rename is there', async () => {
    const folder = await temporaryFolder();
    const commit = await partialOf(folder, 'new');
    await rm(join(folder, '.now.run-1.partial'));
    await expect(commitUnlogged(commit)).rejects.toMatchObject({ code: 'E_SINK_WRITE', message: expect.stringContaining('ENOENT') });
  });

  test('changes no output but those that it names', async () => {
    const folder = await temporaryFolder();
    const { actions } = await partialOf(folder, 'new');
    const commit = { outputs: [join(folder, 'other')], actions };
    await expect(commitUnlogged(commit)).rejects.toMatchObject({
      code: 'E_RUN_FAILED',
      message: `a commit would rename ${folder}/.now.run-1.partial to ${folder}/now, which is not an action on one of its outputs`,
    });
    expect(await readdir(folder)).toEqual(['.now.run-1.partial']);
  });

  test('changes nothing when it is carried out again', async () => {
    const folder = await temporaryFolder();
    const [link, file] = [await draftOf(folder), await partialOf(await temporaryFolder(), 'new')];
    const commit = { outputs: [...link.outputs, ...file.outputs], actions: [...file.actions, ...link.actions] };
    await commitUnlogged(commit);
    const seen = () =>
      Promise.all(
        commit.outputs.map(async (path) => {
          const { ino, mtimeMs, ctimeMs } = await lstat(path);
          return { ino, mtimeMs, ctimeMs };
        }),
      );
    const before = await seen();
    await commitUnlogged(commit);
    expect(await seen()).toEqual(before);
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
