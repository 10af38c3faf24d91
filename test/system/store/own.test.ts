import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { chmod, chown, lchown, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isPrivate, makePrivate, openOwn, readOwn, refuseLinks, ScratchFolder } from '../../../src/store/index.js';
import { entriesBelow } from '../../../src/lake/link.js';
import { runIn, serviceOf } from '../../support/services.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const me = process.geteuid?.() ?? 0;
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
const asRoot = me === 0 ? test : test.skip;

test('outputs and the state folder have their permissions under any umask, also where the owner has none of them', async () => {
  const folder = await temporaryFolder();
  const sinks = [
    'csv: { path: a/b/x.csv }',
    "csv: { path: y.csv, permissions: '0640' }",
    'parquet: { path: t, mode: append }',
    'parquet: { path: d, table: delta }',
  ];
  const body = `from: users\nto:\n${sinks.map((sink) => `  - ${sink}\n`).join('')}`;
  const from = await serviceOf({ users: [{ uid: '1' }] });
  const before = process.umask(0o277);
  try {
    for (const _ of [1, 2]) await runIn(from, body, folder, { stateDir: join(folder, 'state') });
    await (await ScratchFolder.open(join(folder, 'state/scratch'))).remove();
    await ScratchFolder.open(join(folder, 'state/scratch'));
  } finally {
    process.umask(before);
  }
  const names = (await readdir(folder, { recursive: true })).filter((name) => name !== 't' && !name.endsWith('.lock'));
  const modes = await Promise.all(names.map(async (name) => [name, await modeOf(join(folder, name))] as const));
  const expected = await Promise.all(names.map(async (name) => ((await stat(join(folder, name))).isDirectory() ? '700' : '600')));
  expect(modes).toEqual(names.map((name, index) => [name, name === 'y.csv' ? '640' : expected[index]]));
  expect(names).toEqual(expect.arrayContaining(['a/b', 'a/b/x.csv', 'state/counts/test.json', 'state/runs.ndjson']));
});

describe('makePrivate', () => {
  test('closes a folder that others could look into', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'state/a'), { recursive: true });
    await chmod(join(folder, 'state/a'), 0o775);
    await makePrivate(join(folder, 'state/a'));
    expect(await modeOf(join(folder, 'state/a'))).toBe('700');
  });

  test('refuses a link in the state folder, and leaves what it leads to', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'victim'), { mode: 0o755 });
    await mkdir(join(folder, 'state'));
    await symlink(join(folder, 'victim'), join(folder, 'state/a'));
    const refused = { code: 'E_STATE_FOREIGN', message: `${folder}/state/a is a link, or not a folder` };
    await expect(makePrivate(join(folder, 'state/a'))).rejects.toMatchObject(refused);
    await expect(isPrivate(join(folder, 'state/a'))).rejects.toMatchObject(refused);
    expect(await modeOf(join(folder, 'victim'))).toBe('755');
    expect(await filesBelow(join(folder, 'victim'))).toEqual([]);
  });

  test.each([
    ['state', 'is not a folder'],
    ['state/a', 'is a link, or not a folder'],
  ])('refuses a file at %s, and a folder that everyone can write', async (name, fault) => {
    const folder = await temporaryFolder();
    if (name !== 'state') await mkdir(join(folder, 'state'));
    await writeFile(join(folder, name), '');
    await expect(makePrivate(join(folder, 'state/a'))).rejects.toMatchObject({
      code: 'E_STATE_FOREIGN',
      message: `${folder}/${name} ${fault}`,
    });

    const other = await temporaryFolder();
    await mkdir(join(other, 'state/a'), { recursive: true });
    await chmod(join(other, name), 0o777);
    await expect(makePrivate(join(other, 'state/a'))).rejects.toMatchObject({
      code: 'E_STATE_FOREIGN',
      message: `${other}/${name} is writable by everyone`,
    });
  });

  asRoot.each(['state', 'state/a', 'link'])('refuses %s of another user, also for root', async (name) => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'state/a'), { recursive: true });
    await symlink('state', join(folder, 'link'));
    await (name === 'link' ? lchown : chown)(join(folder, name), 12_345, 12_345);
    await expect(makePrivate(join(folder, name === 'link' ? 'link/a' : 'state/a'))).rejects.toMatchObject({
      code: 'E_STATE_FOREIGN',
      message: `${folder}/${name} belongs to user 12345, not to user 0, who runs this`,
    });
  });

  test('takes a state folder like /tmp, and a link of root to one, as systemd makes it', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'state'));
    await chmod(join(folder, 'state'), 0o1777);
    await symlink('state', join(folder, 'link'));
    await makePrivate(join(folder, 'link/a'));
    expect(await modeOf(join(folder, 'state/a'))).toBe('700');
  });
});

describe('readOwn', () => {
  test('reads a file, and gives nothing for none', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'a'), 'text');
    expect([await readOwn(join(folder, 'a')), await readOwn(join(folder, 'b'))]).toEqual(['text', undefined]);
  });

  test.each([
    ['a link', 'is a link, not a regular file', (path: string, victim: string) => symlink(victim, path)],
    ['a link to nothing', 'is a link, not a regular file', (path: string) => symlink('nowhere', path)],
    ['a pipe', 'is not a regular file', async (path: string) => void execFileSync('mkfifo', [path])],
    ['a folder', 'is not a regular file', (path: string) => mkdir(path)],
  ])('refuses %s at once', async (_what, fault, plant) => {
    const folder = await temporaryFolder();
    const [path, victim] = [join(folder, 'a'), join(folder, 'victim')];
    await writeFile(victim, 'mine');
    await plant(path, victim);
    await expect(readOwn(path)).rejects.toMatchObject({ code: 'E_STATE_FOREIGN', message: `${path} ${fault}` });
    await expect(openOwn(path, constants.O_RDONLY)).rejects.toMatchObject({ code: 'E_STATE_FOREIGN' });
    expect(await readFile(victim, 'utf8')).toBe('mine');
  });

  asRoot('refuses a file of another user, also for root', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'a'), 'text');
    await chown(join(folder, 'a'), 12_345, 12_345);
    await expect(readOwn(join(folder, 'a'))).rejects.toThrow(`${folder}/a belongs to user 12345, not to user 0, who runs this`);
  });
});

describe('the folders of a table', () => {
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

  test('are named where one cannot be entered', async () => {
    const base = await temporaryFolder();
    await chmod(base, 0o755);
    await mkdir(join(base, '.t.runs/run-1'), { recursive: true });
    await chmod(join(base, '.t.runs'), 0);
    const path = { code: 'E_SINK_PATH', message: expect.stringContaining(join(base, '.t.runs')) };
    await expect(unprivileged(() => refuseLinks(base, join(base, '.t.runs/run-1')))).rejects.toMatchObject(path);
    await expect(unprivileged(() => entriesBelow(join(base, '.t.runs')))).rejects.toMatchObject(path);
    await chmod(join(base, '.t.runs'), 0o700);
  });

  test('are named where a file is in the place of one', async () => {
    const base = await temporaryFolder();
    await writeFile(join(base, '.t.runs'), '');
    await expect(refuseLinks(base, join(base, '.t.runs/run-1'))).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: `${base}/.t.runs is not a folder where leadstream keeps a folder of its own; check what it is, and move it away`,
    });
  });
});
