import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finishIntents, removeIntent, writeIntent, type Intent, lockOutputs, publish } from '../../../src/store/index.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';
import { start } from './support.js';

const run = { runId: 'run-2' };

/** A run that is ready to publish a new file, a replaced file and the link of a table, over what an earlier one published. */
async function staged(folder: string): Promise<{ readonly state: string; readonly intent: Intent }> {
  const at = (name: string) => join(folder, name);
  const file = { bytes: 3, sha256: createHash('sha256').update('new').digest('hex') };
  await writeFile(at('a.csv'), 'old');
  for (const name of ['.a.csv.run-1.partial', '.b.csv.run-1.partial']) await writeFile(at(name), 'new');
  await symlink('.table.runs/run-0', at('table'));
  await mkdir(at('.table.runs/run-1'), { recursive: true });
  await symlink('.table.runs/run-1', at('.table.runs/run-1.link'));
  const moves = [
    { from: at('.a.csv.run-1.partial'), to: at('a.csv'), file },
    { from: at('.b.csv.run-1.partial'), to: at('b.csv'), file },
    { from: at('.table.runs/run-1.link'), to: at('table'), link: '.table.runs/run-1' },
  ];
  const outputs = [at('a.csv'), at('b.csv'), at('table')];
  return { state: at('state/intents'), intent: { runId: 'run-1', pipeline: 'test', outputs, moves } };
}

async function expectPublished(folder: string): Promise<void> {
  expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('new');
  expect(await readFile(join(folder, 'b.csv'), 'utf8')).toBe('new');
  expect(await readlink(join(folder, 'table'))).toBe('.table.runs/run-1');
  expect(await filesBelow(folder)).toEqual(['.table.runs', '.table.runs/run-1', 'a.csv', 'b.csv', 'state', 'state/intents', 'table']);
}

const inTheWayOfALink: readonly (readonly [what: string, put: (path: string) => Promise<void>])[] = [
  ['a file stands', (path) => writeFile(path, 'precious')],
  ['a link to elsewhere stands', (path) => symlink('elsewhere', path)],
  ['a folder with a file stands', (path) => mkdir(path).then(() => writeFile(join(path, 'file'), 'precious'))],
];

describe('writeIntent', () => {
  test('writes one whole file, which removeIntent removes', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    expect(await readdir(state)).toEqual(['run-1.intent.json']);
    expect(JSON.parse(await readFile(join(state, 'run-1.intent.json'), 'utf8'))).toMatchObject({
      ...intent,
      version: 2,
      writtenAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });

    await removeIntent(state, 'run-1');
    await removeIntent(state, 'run-1');
    expect(await readdir(state)).toEqual([]);
  });

  test('decides nothing when a file is not as it was written', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await truncate(join(folder, '.b.csv.run-1.partial'), 2);
    await expect(writeIntent(state, intent)).rejects.toMatchObject({
      code: 'E_SINK_VERIFY',
      message: `cannot publish ${folder}/b.csv: ${folder}/.b.csv.run-1.partial has 2 bytes, 3 were written`,
    });
    expect(await filesBelow(folder)).not.toContain('state/intents/run-1.intent.json');
  });

  test('gives a publication that is not carried out when a file changed in between', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    const publication = await writeIntent(state, intent);
    await truncate(join(folder, '.a.csv.run-1.partial'), 2);
    await expect(publication.carryOut()).rejects.toMatchObject({
      code: 'E_SINK_VERIFY',
      message: expect.stringContaining('has changed since it was checked'),
    });
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
  });

  test.each(inTheWayOfALink)('decides nothing when %s where a link belongs', async (_what, put) => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await rm(join(folder, 'table'));
    await put(join(folder, 'table'));
    const before = await filesBelow(folder);
    await expect(writeIntent(state, intent)).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: `${folder}/table is nothing that leadstream made; move it away, so that the link of the table can take its place`,
    });
    expect(await filesBelow(folder)).toEqual(before);
  });

  test.each(inTheWayOfALink)('gives a publication that replaces nothing of a person, put there in between: %s', async (_what, put) => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    const publication = await writeIntent(state, intent);
    await rm(join(folder, 'table'));
    await put(join(folder, 'table'));
    const before = await lstat(join(folder, 'table'));
    await expect(publication.carryOut()).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    expect((await lstat(join(folder, 'table'))).ino).toBe(before.ino);
  });

  test('names the folder when nothing can be written there', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await mkdir(join(state, 'run-1.intent.json'), { recursive: true });
    await expect(writeIntent(state, intent)).rejects.toMatchObject({ code: 'E_SINK_WRITE', message: expect.stringContaining(state) });
    expect(await readdir(state)).toEqual(['run-1.intent.json']);
  });
});

describe('finishIntents', () => {
  test.each([
    ['before anything was renamed', 0],
    ['when a part was renamed', 1],
  ])('replaces no file of a person that took the place of the link %s, and goes on when that was moved away', async (_what, done) => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    await publish(intent.moves.slice(0, done));
    const table = join(folder, 'table');
    await rm(table);
    await writeFile(table, 'precious');
    await expect(finishIntents(state, run)).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: expect.stringContaining(`${table} is nothing that leadstream made; move it away`),
    });
    expect(await readFile(table, 'utf8')).toBe('precious');
    await rm(table);
    await finishIntents(state, run);
    await expectPublished(folder);
  });

  test('makes a link again that was lost before it arrived', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    await rm(join(folder, '.table.runs/run-1.link'));
    await finishIntents(state, run);
    await expectPublished(folder);
  });

  test('gives the spent pages away before it forgets the intent', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, { ...intent, spent: ['/spool/leads'] });
    const seen: unknown[] = [];
    await finishIntents(state, { ...run, removeSpent: async (spent) => void seen.push(spent, await readdir(state)) });
    expect(seen).toEqual(['/spool/leads', ['run-1.intent.json']]);
  });

  test.each([0, 1, 2, 3])('completes a run that was killed after %i of 3 moves', async (done) => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    const child = start('test/system/store/redo-log-child.ts', [state, JSON.stringify(intent), String(done)]);
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    const finished = await finishIntents(state, run);

    expect(finished).toEqual([expect.objectContaining({ ...intent, writtenAt: expect.any(String) })]);
    await expectPublished(folder);
    expect(await finishIntents(state, run)).toEqual([]);
  });

  test('completes what an earlier attempt to complete left', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    for (const done of [1, 2]) await publish(intent.moves.slice(0, done));
    await finishIntents(state, run);
    await expectPublished(folder);
  });

  test('finds nothing where there is no folder', async () => {
    const folder = await temporaryFolder();
    expect(await finishIntents(join(folder, 'state'), run)).toEqual([]);
  });

  test('ignores a half-written intent, and removes it when it is an hour old', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    const [young, old] = ['run-1.intent.json.aa.tmp', 'run-1.intent.json.bb.tmp'];
    await rename(join(state, 'run-1.intent.json'), join(state, young));
    await writeFile(join(state, old), '{"version"');
    await utimes(join(state, old), 0, 0);

    expect(await finishIntents(state, run)).toEqual([]);
    expect(await readdir(state)).toEqual([young]);
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
  });

  test('refuses a damaged one and says how to give it up', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'run-1.intent.json');
    await writeFile(path, '{"version":1');
    await expect(finishIntents(folder, run)).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
      message: `${path} is no intent to publish, or damaged; to give that publication up, look at its outputs and remove ${path}`,
    });
  });

  test('names both ends of a move that are gone, and keeps the intent', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    await rm(join(folder, '.b.csv.run-1.partial'));
    await expect(finishIntents(state, run)).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
      message: expect.stringMatching(
        /^cannot finish what run run-1 decided .*: cannot publish .*\/b\.csv: ENOENT: neither it nor .*\/\.b\.csv\.run-1\.partial is there; to give/,
      ),
    });
    expect(await readdir(state)).toEqual(['run-1.intent.json']);
  });

  test.each([
    [
      'is gone, while the earlier output stands',
      (path: string) => rm(path),
      'is gone, and what stands there has other bytes than were written',
    ],
    ['lost bytes', (path: string) => truncate(path, 2), 'has 2 bytes, 3 were written'],
    ['has other bytes', (path: string) => writeFile(path, 'odd'), 'has other bytes than were written'],
    ['became a folder', (path: string) => rm(path).then(() => mkdir(path)), 'is no regular file'],
    ['became a link to the same', (path: string) => rename(path, `${path}.x`).then(() => symlink(`${path}.x`, path)), 'is no regular file'],
  ])('publishes nothing when a partial file %s, and keeps the intent', async (_what, damage, message) => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    await damage(join(folder, '.a.csv.run-1.partial'));
    await expect(finishIntents(state, run)).rejects.toMatchObject({ code: 'E_SINK_VERIFY', message: expect.stringContaining(message) });
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
    expect(await readlink(join(folder, 'table'))).toBe('.table.runs/run-0');
    expect(await readdir(state)).toEqual(['run-1.intent.json']);
  });

  test('publishes nothing when a file that had arrived is another one by now', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    await publish(intent.moves.slice(0, 1));
    await writeFile(join(folder, 'a.csv'), 'odd');
    await expect(finishIntents(state, run)).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
    expect(await readlink(join(folder, 'table'))).toBe('.table.runs/run-0');
  });

  test('finishes only those asked for', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    expect(await finishIntents(state, { ...run, only: ({ pipeline }) => pipeline === 'other' })).toEqual([]);
    expect(await readdir(state)).toEqual(['run-1.intent.json']);
  });

  test('leaves one alone whose outputs a living run holds', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    const lock = await lockOutputs(intent.outputs.slice(0, 1), { runId: 'run-1' });
    expect(await finishIntents(state, run)).toEqual([]);
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('old');
    await lock.release();
  });

  test('takes outputs that the caller holds for locked', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    const held = intent.outputs.slice(0, 1);
    const lock = await lockOutputs(held, run);
    await finishIntents(state, { ...run, held });
    await lock.release();
    await expectPublished(folder);
  });

  test('makes the caller wait when another run holds the rest of an intent that shares an output with it', async () => {
    const folder = await temporaryFolder();
    const { state, intent } = await staged(folder);
    await writeIntent(state, intent);
    const other = await lockOutputs(intent.outputs.slice(1), { runId: 'run-3' });
    await expect(finishIntents(state, { ...run, held: intent.outputs.slice(0, 1) })).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await other.release();
    expect((await stat(join(state, 'run-1.intent.json'))).isFile()).toBe(true);
  });
});
