import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { constants, type Stats } from 'node:fs';
import { chmod, link, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { foreignness, openOwn, readOwn, stateForeignness } from '../../../src/store/own.js';
import { isPrivate, makePrivate, refuseLinks } from '../../../src/store/index.js';
import { entriesBelow } from '../../../src/lake/table.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const me = process.geteuid?.() ?? 0;
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

/** What the system says of a path, with changes. */
async function statsOf(path: string, changes: Partial<Stats> = {}): Promise<Stats> {
  return Object.assign(await lstat(path), changes);
}

describe('foreignness', () => {
  test.each([
    ['file', { uid: 1001 }, 'belongs to user 1001, not to user 1000, who runs this'],
    ['file', { uid: 0 }, 'belongs to user 0, not to user 1000, who runs this'],
    ['folder', { uid: 1001 }, 'belongs to user 1001, not to user 1000, who runs this'],
    ['file', { mode: 0o100666 }, 'is writable by everyone'],
    ['folder', { mode: 0o041777 }, 'is writable by everyone'],
    ['file', { nlink: 2 }, 'has a second name (a hard link)'],
    ['folder', { nlink: 9 }, undefined],
    ['file', { mode: 0o100660 }, undefined],
  ] as const)('of a %s with %j is: %s', async (kind, changes, fault) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    const found = await statsOf(kind === 'file' ? join(folder, 'file') : folder, { uid: 1000, ...changes });
    expect(foreignness(found, kind, 1000)).toBe(fault);
  });

  test('is that of a link, whatever it leads to', async () => {
    const folder = await temporaryFolder();
    await symlink('.', join(folder, 'link'));
    expect(foreignness(await statsOf(join(folder, 'link')), 'folder')).toBe('is a link');
  });
});

describe('stateForeignness', () => {
  test.each([
    ['of another user', { uid: 1001 }, 1000, 'belongs to user 1001, not to user 1000, who runs this'],
    ['of a user, for root', { uid: 1000 }, 0, 'belongs to user 1000, not to user 0, who runs this'],
    ['of root, as a mounted volume is', { uid: 0, mode: 0o042775 }, 1000, undefined],
    ['that everyone can write', { uid: 1000, mode: 0o040777 }, 1000, 'is writable by everyone'],
    ['like /tmp', { uid: 0, mode: 0o041777 }, 1000, undefined],
  ])('of a folder %s', async (_what, changes, user, fault) => {
    const found = await statsOf(await temporaryFolder(), changes);
    expect(stateForeignness(found, found, user)).toBe(fault);
  });

  test.each([
    ['of the user', 1000, 1000, 'is a link'],
    ['of another user', 1001, 1000, 'is a link'],
    ['of root', 0, 1000, undefined],
    ['of root, for root', 0, 0, 'is a link'],
  ])('of a link %s', async (_what, uid, user, fault) => {
    const folder = await temporaryFolder();
    await symlink('.', join(folder, 'link'));
    const target = await statsOf(folder, { uid: user });
    expect(stateForeignness(await statsOf(join(folder, 'link'), { uid }), target, user)).toBe(fault);
  });
});

describe('makePrivate', () => {
  test('makes the folder and the state folder for this user alone, whatever the umask', async () => {
    const folder = await temporaryFolder();
    await makePrivate(join(folder, 'state/a'));
    expect([await modeOf(join(folder, 'state')), await modeOf(join(folder, 'state/a'))]).toEqual(['700', '700']);
  });

  test('closes a folder that others could look into', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'state/a'), { recursive: true });
    await chmod(join(folder, 'state/a'), 0o775);
    await makePrivate(join(folder, 'state/a'));
    expect(await modeOf(join(folder, 'state/a'))).toBe('700');
  });

  test.each(['state', 'state/a'])('refuses a link at %s, and leaves what it leads to', async (name) => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'victim'), { mode: 0o755 });
    if (name !== 'state') await mkdir(join(folder, 'state'));
    await symlink(join(folder, 'victim'), join(folder, name));
    const refused = { code: 'E_STATE_FOREIGN', message: `${folder}/${name} is a link` };
    await expect(makePrivate(join(folder, 'state/a'))).rejects.toMatchObject(refused);
    await expect(isPrivate(join(folder, 'state/a'))).rejects.toMatchObject(refused);
    expect(await modeOf(join(folder, 'victim'))).toBe('755');
    expect(await filesBelow(join(folder, 'victim'))).toEqual([]);
  });

  test.each(['state', 'state/a'])('refuses a file at %s, and a folder that everyone can write', async (name) => {
    const folder = await temporaryFolder();
    if (name !== 'state') await mkdir(join(folder, 'state'));
    await writeFile(join(folder, name), '');
    await expect(makePrivate(join(folder, 'state/a'))).rejects.toMatchObject({
      code: 'E_STATE_FOREIGN',
      message: `${folder}/${name} is not a folder`,
    });

    const other = await temporaryFolder();
    await mkdir(join(other, 'state/a'), { recursive: true });
    await chmod(join(other, name), 0o777);
    await expect(makePrivate(join(other, 'state/a'))).rejects.toMatchObject({
      code: 'E_STATE_FOREIGN',
      message: `${other}/${name} is writable by everyone`,
    });
  });
});

describe('readOwn', () => {
  test('reads a file, and gives nothing for none', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'a'), 'text');
    expect([await readOwn(join(folder, 'a')), await readOwn(join(folder, 'b'))]).toEqual(['text', undefined]);
  });

  test.each([
    ['a link', 'is a link', (path: string, victim: string) => symlink(victim, path)],
    ['a link to nothing', 'is a link', (path: string) => symlink('nowhere', path)],
    ['a hard link', 'has a second name (a hard link)', (path: string, victim: string) => link(victim, path)],
    ['a pipe', 'is not a regular file', async (path: string) => void execFileSync('mkfifo', [path])],
    ['a folder', 'is not a regular file', (path: string) => mkdir(path)],
  ])('refuses %s at once', async (_what, fault, plant) => {
    const folder = await temporaryFolder();
    const [path, victim] = [join(folder, 'a'), join(folder, 'victim')];
    await writeFile(victim, 'mine');
    await plant(path, victim);
    await expect(readOwn(path)).rejects.toMatchObject({ code: 'E_STATE_FOREIGN', message: `${path} ${fault}` });
    await expect(openOwn(path, constants.O_RDONLY | constants.O_NOFOLLOW)).rejects.toMatchObject({ code: 'E_STATE_FOREIGN' });
    expect(await readFile(victim, 'utf8')).toBe('mine');
  });

  (me === 0 ? test : test.skip)('refuses a file of another user, also for root', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'a'), 'text');
    execFileSync('chown', ['12345', join(folder, 'a')]);
    await expect(readOwn(join(folder, 'a'))).rejects.toThrow(`${folder}/a belongs to user 12345, not to user 0, who runs this`);
  });
});

describe('what the user who runs this may not use', () => {
  /** As somebody whom permissions concern, which they do not root. */
  async function unprivileged<T>(work: () => Promise<T>): Promise<T> {
    if (me !== 0) return work();
    process.seteuid?.(65_534);
    try {
      return await work();
    } finally {
      process.seteuid?.(0);
    }
  }

  const refused = (path: string) => ({
    code: 'E_STATE_FOREIGN',
    message: expect.stringMatching(
      new RegExp(
        `^${path} cannot be used \\(EACCES\\)(: it belongs to user 0, not to user 65534, who runs this; give it|; make it accessible)`,
      ),
    ),
  });

  test('is told by the state folder and its owner', async () => {
    const base = await temporaryFolder();
    await chmod(base, 0o755);
    const state = join(base, 'state');
    await mkdir(join(state, 'spool'), { recursive: true });
    await chmod(state, 0);
    await expect(unprivileged(() => isPrivate(join(state, 'spool')))).rejects.toMatchObject(refused(state));
    await expect(unprivileged(() => makePrivate(join(state, 'spool')))).rejects.toMatchObject(refused(state));
    await chmod(state, 0o700);
  });

  test('is told by a file and its owner', async () => {
    const base = await temporaryFolder();
    await chmod(base, 0o755);
    await writeFile(join(base, 'account.key'), '', { mode: 0 });
    await expect(unprivileged(() => readOwn(join(base, 'account.key')))).rejects.toMatchObject(refused(join(base, 'account.key')));
  });

  test('is told where a folder of a table cannot be entered', async () => {
    const base = await temporaryFolder();
    await chmod(base, 0o755);
    await mkdir(join(base, '.t.runs/run-1'), { recursive: true });
    await chmod(join(base, '.t.runs'), 0);
    const path = { code: 'E_SINK_PATH', message: expect.stringContaining(join(base, '.t.runs')) };
    await expect(unprivileged(() => refuseLinks(base, join(base, '.t.runs/run-1')))).rejects.toMatchObject(path);
    await expect(unprivileged(() => entriesBelow(join(base, '.t.runs')))).rejects.toMatchObject(path);
    await chmod(join(base, '.t.runs'), 0o700);
  });

  test('is told where a file is in the place of a folder', async () => {
    const base = await temporaryFolder();
    await writeFile(join(base, '.t.runs'), '');
    await expect(refuseLinks(base, join(base, '.t.runs/run-1'))).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: `${base}/.t.runs is not a folder, but leadstream keeps a folder of its own there; check what it is, and move it away`,
    });
    await expect(isPrivate(join(base, '.t.runs/spool'))).rejects.toMatchObject({
      code: 'E_STATE_FOREIGN',
      message: expect.stringContaining(`${base}/.t.runs is not a folder`),
    });
  });
});
