import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commitUnlogged, forgetCommit, logCommit, lockOutputs, recoverCommits } from '../../../src/store/index.js';
import type { LinkAction, LoggedCommit, RenameAction } from '../../../src/store/index.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';
import { start } from './support.js';

const run = { runId: 'run-2' };

/** A run that is ready to commit a new file, a replaced file and the link of a table, over what an earlier one published. */
async function prepared(folder: string): Promise<{ readonly state: string; readonly commit: LoggedCommit }> {
  const at = (name: string) => join(folder, name);
  const file = { bytes: 3, sha256: createHash('sha256').update('new').digest('hex') };
  await writeFile(at('a.csv'), 'old');
  for (const name of ['.a.csv.run-1.partial', '.b.csv.run-1.partial']) await writeFile(at(name), 'new');
  await symlink('.table.runs/run-0', at('table'));
  await mkdir(at('.table.runs/run-1'), { recursive: true });
  await symlink('.table.runs/run-1', at('.table.runs/run-1.link'));
  const actions: readonly (RenameAction | LinkAction)[] = [
    { action: 'rename', from: at('.a.csv.run-1.partial'), to: at('a.csv'), file },
    { action: 'rename', from: at('.b.csv.run-1.partial'), to: at('b.csv'), file },
    { action: 'link', at: at('table'), to: '.table.runs/run-1', draft: at('.table.runs/run-1.link') },
  ];
  const outputs = [at('a.csv'), at('b.csv'), at('table')];
  return { state: at('state/redo-log'), commit: { runId: 'run-1', pipeline: 'test', outputs, actions } };
}

async function expectCommitted(folder: string): Promise<void> {
  expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('new');
  expect(await readFile(join(folder, 'b.csv'), 'utf8')).toBe('new');
  expect(await readlink(join(folder, 'table'))).toBe('.table.runs/run-1');
  expect(await filesBelow(folder)).toEqual(['.table.runs', '.table.runs/run-1', 'a.csv', 'b.csv', 'state', 'state/redo-log', 'table']);
}

const inTheWayOfALink: readonly (readonly [what: string, put: (path: string) => Promise<void>])[] = [
  ['a file stands', (path) => writeFile(path, 'precious')],
  ['a link to elsewhere stands', (path) => symlink('elsewhere', path)],
  ['a folder with a file stands', (path) => mkdir(path).then(() => writeFile(join(path, 'file'), 'precious'))],
];

describe('logCommit', () => {
  test('writes one whole file, which forgetCommit removes', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    expect(await readdir(state)).toEqual(['run-1.commit.json']);
    expect(JSON.parse(await readFile(join(state, 'run-1.commit.json'), 'utf8'))).toMatchObject({
      ...commit,
      version: 4,
      store: 'local-disk',
      loggedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });

    await forgetCommit(state, 'run-1');
    await forgetCommit(state, 'run-1');
    expect(await readdir(state)).toEqual([]);
  });

  test('logs nothing when a file is not as it was written', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await truncate(join(folder, '.b.csv.run-1.partial'), 2);
    await expect(logCommit(state, commit)).rejects.toMatchObject({
      code: 'E_SINK_VERIFY',
      message: `cannot commit ${folder}/b.csv: ${folder}/.b.csv.run-1.partial has 2 bytes, but 3 were written`,
    });
    expect(await filesBelow(folder)).not.toContain('state/redo-log/run-1.commit.json');
  });

  test('gives a commit that changes nothing when a file changed in between', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    const ready = await logCommit(state, commit);
    await truncate(join(folder, '.a.csv.run-1.partial'), 2);
    await expect(ready.commit()).rejects.toMatchObject({
      code: 'E_SINK_VERIFY',
      message: expect.stringContaining('has changed since it was checked'),
    });
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
  });

  test.each(inTheWayOfALink)('logs nothing when %s where a link belongs', async (_what, put) => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await rm(join(folder, 'table'));
    await put(join(folder, 'table'));
    const before = await filesBelow(folder);
    await expect(logCommit(state, commit)).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: `${folder}/table was not made by leadstream; move it away, so that the link of the table can take its place`,
    });
    expect(await filesBelow(folder)).toEqual(before);
  });

  test.each(inTheWayOfALink)('gives a commit that replaces nothing of a person, put there in between: %s', async (_what, put) => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    const ready = await logCommit(state, commit);
    await rm(join(folder, 'table'));
    await put(join(folder, 'table'));
    const before = await lstat(join(folder, 'table'));
    await expect(ready.commit()).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    expect((await lstat(join(folder, 'table'))).ino).toBe(before.ino);
  });

  test('names the folder when nothing can be written there', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await mkdir(join(state, 'run-1.commit.json'), { recursive: true });
    await expect(logCommit(state, commit)).rejects.toMatchObject({ code: 'E_SINK_WRITE', message: expect.stringContaining(state) });
    expect(await readdir(state)).toEqual(['run-1.commit.json']);
  });
});

describe('recoverCommits', () => {
  test.each([
    ['before anything was renamed', 0],
    ['when a file was renamed', 1],
  ])('replaces no file of a person that took the place of the link %s, and goes on when that was moved away', async (_what, done) => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    await commitUnlogged({ ...commit, actions: commit.actions.slice(0, done) });
    const table = join(folder, 'table');
    await rm(table);
    await writeFile(table, 'precious');
    await expect(recoverCommits(state, run)).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: expect.stringContaining(`${table} was not made by leadstream; move it away`),
    });
    expect(await readFile(table, 'utf8')).toBe('precious');
    await rm(table);
    await recoverCommits(state, run);
    await expectCommitted(folder);
  });

  test('makes a link again that was lost before it arrived', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    await rm(join(folder, '.table.runs/run-1.link'));
    await recoverCommits(state, run);
    await expectCommitted(folder);
  });

  test('lets the caller settle the rest before it forgets the commit', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, { ...commit, spent: ['/spool/leads'], counts: { leads: 3 } });
    const seen: unknown[] = [];
    await recoverCommits(state, { ...run, settle: async ({ spent, counts }) => void seen.push(spent, counts, await readdir(state)) });
    expect(seen).toEqual([['/spool/leads'], { leads: 3 }, ['run-1.commit.json']]);
  });

  test.each([0, 1, 2, 3])('recovers a run that was killed after %i of 3 actions', async (done) => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    const child = start('test/system/store/redo-log-child.ts', [state, JSON.stringify(commit), String(done)]);
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    const recovered = await recoverCommits(state, run);

    expect(recovered).toEqual([expect.objectContaining({ ...commit, loggedAt: expect.any(String) })]);
    await expectCommitted(folder);
    expect(await recoverCommits(state, run)).toEqual([]);
  });

  test('finds nothing where there is no folder', async () => {
    const folder = await temporaryFolder();
    expect(await recoverCommits(join(folder, 'state'), run)).toEqual([]);
  });

  test('ignores a half-written commit, and removes it when it is an hour old', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    const [young, old] = ['a', 'b'].map((digit) => `run-1.commit.json.${digit.repeat(16)}.tmp`) as [string, string];
    await rename(join(state, 'run-1.commit.json'), join(state, young));
    await writeFile(join(state, old), '{"version"');
    await utimes(join(state, old), 0, 0);

    expect(await recoverCommits(state, run)).toEqual([]);
    expect(await readdir(state)).toEqual([young]);
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
  });

  test('names both ends of a rename that are gone, and keeps the commit', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    await rm(join(folder, '.b.csv.run-1.partial'));
    await expect(recoverCommits(state, run)).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
      message: expect.stringMatching(
        /^cannot recover the commit that run run-1 logged .*: cannot commit .*\/b\.csv: ENOENT: neither it nor .*\/\.b\.csv\.run-1\.partial exists; to abandon/,
      ),
    });
    expect(await readdir(state)).toEqual(['run-1.commit.json']);
  });

  test.each([
    [
      'is gone, while the earlier output stands',
      (path: string) => rm(path),
      'is gone, and the existing file has bytes that differ from those written',
    ],
    ['lost bytes', (path: string) => truncate(path, 2), 'has 2 bytes, but 3 were written'],
    ['has other bytes', (path: string) => writeFile(path, 'odd'), 'has bytes that differ from those written'],
    ['became a folder', (path: string) => rm(path).then(() => mkdir(path)), 'is not a regular file'],
    [
      'became a link to the same',
      (path: string) => rename(path, `${path}.x`).then(() => symlink(`${path}.x`, path)),
      'is not a regular file',
    ],
  ])('commits nothing when a partial file %s, and keeps the log', async (_what, damage, message) => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    await damage(join(folder, '.a.csv.run-1.partial'));
    await expect(recoverCommits(state, run)).rejects.toMatchObject({ code: 'E_SINK_VERIFY', message: expect.stringContaining(message) });
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
    expect(await readlink(join(folder, 'table'))).toBe('.table.runs/run-0');
    expect(await readdir(state)).toEqual(['run-1.commit.json']);
  });

  test('commits nothing when a file that had arrived is another one by now', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    await commitUnlogged({ ...commit, actions: commit.actions.slice(0, 1) });
    await writeFile(join(folder, 'a.csv'), 'odd');
    await expect(recoverCommits(state, run)).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
    expect(await readlink(join(folder, 'table'))).toBe('.table.runs/run-0');
  });

  test('recovers only those asked for', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    expect(await recoverCommits(state, { ...run, only: ({ pipeline }) => pipeline === 'other' })).toEqual([]);
    expect(await readdir(state)).toEqual(['run-1.commit.json']);
  });

  test('leaves one alone whose outputs a living run holds', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    const lock = await lockOutputs(commit.outputs.slice(0, 1), { runId: 'run-1' });
    expect(await recoverCommits(state, run)).toEqual([]);
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
    await lock.release();
  });

  test('takes outputs that the caller holds for locked', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    const held = commit.outputs.slice(0, 1);
    const lock = await lockOutputs(held, run);
    await recoverCommits(state, { ...run, held });
    await lock.release();
    await expectCommitted(folder);
  });

  test('makes the caller wait when another run holds the rest of a commit that shares an output with it', async () => {
    const folder = await temporaryFolder();
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    const other = await lockOutputs(commit.outputs.slice(1), { runId: 'run-3' });
    await expect(recoverCommits(state, { ...run, held: commit.outputs.slice(0, 1) })).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await other.release();
    expect((await stat(join(state, 'run-1.commit.json'))).isFile()).toBe(true);
  });
});

describe('a logged commit', () => {
  /** A commit in the log, which is changed there. @returns The path of its file. */
  async function altered(folder: string, change: (text: string) => string): Promise<{ readonly state: string; readonly path: string }> {
    const { state, commit } = await prepared(folder);
    await logCommit(state, commit);
    const path = join(state, 'run-1.commit.json');
    await writeFile(path, change(await readFile(path, 'utf8')));
    return { state, path };
  }

  test('of an unknown version is refused by name, and nothing is touched', async () => {
    const folder = await temporaryFolder();
    const { state, path } = await altered(folder, (text) => text.replace(/"version": ?4/, '"version":5'));
    const before = await filesBelow(folder);
    const remedy = 'recover it with the version of leadstream that logged it (run --recover)';
    await expect(recoverCommits(state, run)).rejects.toMatchObject({
      code: 'E_STATE_VERSION',
      exit: 1,
      message: `${path} has version 5 of the redo log, but this leadstream has 4; ${remedy}; to abandon that commit, check its outputs and remove ${path}`,
    });
    expect(await filesBelow(folder)).toEqual(before);
  });

  test.each([
    ['no end', /\}\s*$/, ''],
    ['no version', /"version": ?4,/, ''],
    ['no actions', /"actions":/, '"acts":'],
    ['a store that nobody knows', /"store": ?"local-disk"/, '"store":"s3"'],
    ['a word that nobody knows', /\{/, '{"urgent":true,'],
    ['an action with a word that nobody knows', /"action":/, '"unless":"x","action":'],
    ['an action that nobody knows', /"action": ?"rename"/, '"action":"complete-upload"'],
    ['an action without a place', /"to":/, '"towards":'],
  ])('with %s is taken for damaged, and nothing is touched', async (_what, part, other) => {
    const folder = await temporaryFolder();
    const { state, path } = await altered(folder, (text) => text.replace(part, other));
    const before = await filesBelow(folder);
    await expect(recoverCommits(state, run)).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
      message: `${path} is not a logged commit, or is damaged; to abandon that commit, check its outputs and remove ${path}`,
    });
    expect(await filesBelow(folder)).toEqual(before);
  });

  test('that comes back to the log after its recovery changes nothing', async () => {
    const folder = await temporaryFolder();
    const { state, path } = await altered(folder, (text) => text);
    const text = await readFile(path);
    for (const _ of ['the recovery', 'when it is back']) {
      expect((await recoverCommits(state, run)).map(({ runId }) => runId)).toEqual(['run-1']);
      await expectCommitted(folder);
      await writeFile(path, text, { mode: 0o600 });
    }
  });

  test('is recovered as version 4 has it: renames, and the link of a table', async () => {
    const folder = await temporaryFolder();
    const redoLog = join(folder, 'state/redo-log');
    await mkdir(redoLog, { recursive: true, mode: 0o700 });
    await mkdir(join(folder, '.t.runs/run-1'), { recursive: true });
    await writeFile(join(folder, '.a.csv.run-1.partial'), 'new');
    await writeFile(join(folder, '.t.runs/run-1/part.parquet.partial'), 'part');
    const sha256 = '11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437';
    const text = `{
  "version": 4,
  "store": "local-disk",
  "runId": "run-1",
  "pipeline": "test",
  "loggedAt": "2026-01-01T00:00:00.000Z",
  "outputs": ["${folder}/a.csv", "${folder}/t"],
  "actions": [
    { "action": "rename", "from": "${folder}/.a.csv.run-1.partial", "to": "${folder}/a.csv", "file": { "bytes": 3, "sha256": "${sha256}" } },
    { "action": "rename", "from": "${folder}/.t.runs/run-1/part.parquet.partial", "to": "${folder}/.t.runs/run-1/part.parquet" },
    { "action": "link", "at": "${folder}/t", "to": ".t.runs/run-1", "draft": "${folder}/.t.runs/run-1.link" }
  ],
  "spent": [],
  "counts": { "sources": {} }
}
`;
    await writeFile(join(redoLog, 'run-1.commit.json'), text, { mode: 0o600 });
    expect(await recoverCommits(redoLog, run)).toEqual([expect.objectContaining({ runId: 'run-1', counts: { sources: {} } })]);
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('new');
    expect(await readFile(join(folder, 't/part.parquet'), 'utf8')).toBe('part');
    expect(await readdir(redoLog)).toEqual([]);
  });
});
