import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logCommit, recoverCommits, type RenameAction } from '../../../src/store/index.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const run = { runId: 'run-9' };

/** Two commits in a redo log, of `run-1` and `run-2`, each of one file. */
async function logged(folder: string): Promise<string> {
  const redoLog = join(folder, 'state/redo-log');
  for (const runId of ['run-1', 'run-2']) {
    const [from, to] = [join(folder, `.${runId}.csv.${runId}.partial`), join(folder, `${runId}.csv`)];
    const file = { bytes: 3, sha256: createHash('sha256').update('new').digest('hex') };
    await writeFile(from, 'new');
    const action: RenameAction = { action: 'rename', from, to, file };
    await logCommit(redoLog, { runId, pipeline: 'test', outputs: [to], actions: [action] });
  }
  return redoLog;
}

type Json = Readonly<Record<string, unknown>>;

async function altered(path: string, change: (document: Json) => Json | string): Promise<void> {
  const altered = change(JSON.parse(await readFile(path, 'utf8')) as Json);
  await writeFile(path, typeof altered === 'string' ? altered : JSON.stringify(altered));
}

describe('a logged commit', () => {
  test('is plain JSON, whose actions are those of the sinks', async () => {
    const folder = await temporaryFolder();
    const redoLog = await logged(folder);
    const document: unknown = JSON.parse(await readFile(join(redoLog, 'run-1.commit.json'), 'utf8'));
    expect(document).toStrictEqual({
      version: 4,
      store: 'local-disk',
      runId: 'run-1',
      pipeline: 'test',
      loggedAt: expect.any(String),
      outputs: [join(folder, 'run-1.csv')],
      actions: [
        {
          action: 'rename',
          from: join(folder, '.run-1.csv.run-1.partial'),
          to: join(folder, 'run-1.csv'),
          file: { bytes: 3, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        },
      ],
    });
  });

  test('of an unknown version is refused by name, and nothing is touched', async () => {
    const folder = await temporaryFolder();
    const redoLog = await logged(folder);
    const path = join(redoLog, 'run-2.commit.json');
    await altered(path, (document) => ({ ...document, version: 5 }));
    const before = await filesBelow(folder);
    const remedy = 'recover it with the version of leadstream that logged it (run --recover)';
    await expect(recoverCommits(redoLog, run)).rejects.toMatchObject({
      code: 'E_STATE_VERSION',
      exit: 1,
      message: `${path} has version 5 of the redo log, but this leadstream has 4; ${remedy}; to abandon that commit, check its outputs and remove ${path}`,
    });
    expect(await filesBelow(folder)).toEqual(before);
  });

  const damaged: readonly (readonly [what: string, change: (document: Json) => Json | string])[] = [
    ['no end', () => '{"version":4'],
    ['a word that nobody knows', (document) => ({ ...document, urgent: true })],
    [
      'an action with a word that nobody knows',
      ({ actions, ...document }) => ({ ...document, actions: (actions as readonly Json[]).map((action) => ({ ...action, unless: 'x' })) }),
    ],
    ['an action without a place', (document) => ({ ...document, actions: [{ action: 'rename', from: '/a' }] })],
    ['actions that are none', (document) => ({ ...document, actions: ['rename'] })],
    ['no actions', (document) => ({ ...document, actions: undefined })],
    ['no store', (document) => ({ ...document, store: undefined })],
    ['a store that nobody knows', (document) => ({ ...document, store: 's3' })],
    ['an action that nobody knows', (document) => ({ ...document, actions: [{ action: 'complete-upload', key: 'a' }] })],
    ['no version', (document) => ({ ...document, version: undefined })],
  ];

  test.each(damaged)('with %s is taken for damaged, and nothing is touched', async (_what, change) => {
    const folder = await temporaryFolder();
    const redoLog = await logged(folder);
    const path = join(redoLog, 'run-2.commit.json');
    await altered(path, change);
    const before = await filesBelow(folder);
    await expect(recoverCommits(redoLog, run)).rejects.toMatchObject({
      code: 'E_SINK_WRITE',
      message: `${path} is not a logged commit, or is damaged; to abandon that commit, check its outputs and remove ${path}`,
    });
    expect(await filesBelow(folder)).toEqual(before);
  });

  test('that comes back to the log after its recovery changes nothing', async () => {
    const folder = await temporaryFolder();
    const redoLog = await logged(folder);
    const path = join(redoLog, 'run-1.commit.json');
    const text = await readFile(path);
    for (const recovered of [['run-1', 'run-2'], ['run-1']]) {
      expect((await recoverCommits(redoLog, run)).map(({ runId }) => runId)).toEqual(recovered);
      expect((await filesBelow(folder)).filter((name) => !name.startsWith('state'))).toEqual(['run-1.csv', 'run-2.csv']);
      expect(await readFile(join(folder, 'run-1.csv'), 'utf8')).toBe('new');
      await writeFile(path, text, { mode: 0o600 });
    }
  });
});

describe('a redo log on disk', () => {
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
